// A full disk for this process alone, made by the kernel: no code that writes has to know of it.
#pragma once

namespace ttt::train {

// From here on creating a file, making a folder, and writing to a regular file that is open for writing now fail with ENOSPC in every thread
// of this process (a seccomp filter; it cannot be taken back). Pipes, sockets and the standard streams go on.
// Throws NotSupported where the kernel forbids it.
void fill_disks();

}  // namespace ttt::train
