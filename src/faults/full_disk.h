// A full disk for this process alone, made by the kernel: no code that writes has to know of it.
#pragma once

namespace ttt::train {

// Makes creating files, making folders and writing to regular files fail with ENOSPC in every thread of this process.
// It is a seccomp filter and cannot be removed. Pipes, sockets and the standard streams continue. Throws NotSupported
// where the kernel forbids it.
void fill_disks();

}  // namespace ttt::train
