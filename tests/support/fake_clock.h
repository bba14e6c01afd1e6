// A clock for whoever takes `double (*)()`: it shows what the test sets.
#pragma once

namespace ttt::test {

inline double fake_now_s = 0;
inline double fake_now() { return fake_now_s; }

}  // namespace ttt::test
