// SPDX-License-Identifier: Apache-2.0
//
// How the C library deals with large blocks.
// Thread-safety: call from main() before other threads exist; changes the whole process.
#ifndef GOSSIPGRAD_PLATFORM_ALLOCATOR_H_
#define GOSSIPGRAD_PLATFORM_ALLOCATOR_H_

namespace gg {

// Keeps freed blocks of up to 32 MiB in the heap instead of giving them back to the kernel with
// each release: fresh pages cost a fault and a zeroing each time, for every chunk that is received
// and for what libraries take by themselves. False: the C library refused (another one than glibc);
// everything works, only slower.
bool KeepFreedMemory();

}  // namespace gg

#endif  // GOSSIPGRAD_PLATFORM_ALLOCATOR_H_
