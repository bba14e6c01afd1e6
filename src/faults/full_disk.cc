#include "faults/full_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/error.h"

namespace ttt::train {
namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr unsigned kArchitecture = 0;
#endif

constexpr unsigned kNoSpace = SECCOMP_RET_ERRNO | ENOSPC;

// its lower half: little-endian
unsigned argument(int i) { return static_cast<unsigned>(offsetof(seccomp_data, args) + 8u * static_cast<unsigned>(i)); }

sock_filter load(unsigned offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); }
sock_filter verdict(unsigned what) { return BPF_STMT(BPF_RET | BPF_K, what); }
sock_filter jump(unsigned short test, unsigned value, unsigned char yes, unsigned char no) {
  return BPF_JUMP(static_cast<unsigned short>(BPF_JMP | test | BPF_K), value, yes, no);
}

// Regular files that this process has open for writing, but for the standard streams.
std::vector<int> writable_files() {
  std::vector<int> found;
  DIR* folder = ::opendir("/proc/self/fd");
  if (!folder) throw NotSupported("kind=disk_full needs /proc/self/fd, which cannot be read here. Leave it out.");
  while (const dirent* entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    struct stat s;
    const int flags = ::fcntl(fd, F_GETFL);
    if (fd > STDERR_FILENO && flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && ::fstat(fd, &s) == 0 &&
        S_ISREG(s.st_mode))
      found.push_back(fd);
  }
  ::closedir(folder);
  return found;
}

// A program that starts with the number of the system call in the accumulator, as each rule leaves it.
std::vector<sock_filter> filter_program() {
  std::vector<sock_filter> p = {load(offsetof(seccomp_data, arch)), jump(BPF_JEQ, kArchitecture, 1, 0),
      verdict(SECCOMP_RET_ALLOW), load(offsetof(seccomp_data, nr))};
  const auto creates = [&p](unsigned call, int flags) {
    p.insert(p.end(), {jump(BPF_JEQ, call, 0, 4), load(argument(flags)), jump(BPF_JSET, O_CREAT, 0, 1),
                          verdict(kNoSpace), verdict(SECCOMP_RET_ALLOW)});
  };
  creates(SYS_openat, 2);
#ifdef SYS_open
  creates(SYS_open, 1);
  p.insert(p.end(), {jump(BPF_JEQ, SYS_mkdir, 0, 1), verdict(kNoSpace)});
#endif
  p.insert(p.end(), {jump(BPF_JEQ, SYS_mkdirat, 0, 1), verdict(kNoSpace)});
  const std::vector<int> files = writable_files();
  if (files.size() > 120)
    throw NotSupported("kind=disk_full: this process has " + std::to_string(files.size()) +
                       " files open for writing, a filter knows 120. Leave it out.");
  for (const unsigned call : {SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev}) {
    p.insert(p.end(), {jump(BPF_JEQ, call, 0, static_cast<unsigned char>(2 + 2 * files.size())), load(argument(0))});
    for (const int fd : files) p.insert(p.end(), {jump(BPF_JEQ, static_cast<unsigned>(fd), 0, 1), verdict(kNoSpace)});
    p.push_back(verdict(SECCOMP_RET_ALLOW));
  }
  p.push_back(verdict(SECCOMP_RET_ALLOW));
  return p;
}

}  // namespace

void fill_disks() {
  std::vector<sock_filter> program = filter_program();
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
  if (kArchitecture == 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
    throw NotSupported(std::string("kind=disk_full: this kernel does not let a process filter its own system calls (") +
                       std::strerror(errno) + "). Leave it out.");
}

}  // namespace ttt::train
