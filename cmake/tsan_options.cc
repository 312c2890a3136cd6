// SPDX-License-Identifier: Apache-2.0
// The system's gRPC and Abseil are not built for ThreadSanitizer: it sees the memory that they read
// and write through libc but not the synchronisation around it. Our own code stays checked in full.
// gRPC ends its threads on yet another thread of its own, which may lose the race with the end of the
// process: reported as leaked threads. Ours cannot leak: a std::thread that is not joined aborts.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "ignore_noninstrumented_modules=1:report_thread_leaks=0";
}
