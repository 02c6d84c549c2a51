/* SPDX-License-Identifier: MIT */
/* The ranks of a run: a thread of the host for each. They have a barrier, an exchange of data, and inboxes
 * in the memory of their devices. */
#ifndef PDL_BENCH_PARALLEL_TEAM_CUH
#define PDL_BENCH_PARALLEL_TEAM_CUH

#include <atomic>
#include <cstdarg>
#include <string>
#include <thread>

#include <unistd.h>

#include "parallel_reduce.cuh"

/* Ends the process with a message, at once: exit() would wait for devices that wait for others. */
[[noreturn]] inline void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    std::fflush(stdout);
    std::vfprintf(stderr, format, arguments);
    std::fputc('\n', stderr);
    va_end(arguments);
    _exit(1);
}

class team
{
  public:
    explicit team(int ranks) : size(ranks)
    {
    }

    /* Returns when all ranks have called it. */
    void barrier()
    {
        const unsigned round = round_.load();
        if (arrived_.fetch_add(1) + 1 == size) {
            arrived_ = 0;
            round_ = round + 1;
        }
        for (unsigned tries = 0; round_.load() == round; tries++) {
            if (tries > 100000) {
                std::this_thread::yield();
            }
        }
    }

    /* What every rank gives, in order: as many from each. */
    template <typename T> std::vector<T> gather(int rank, const std::vector<T> &own)
    {
        std::vector<T> all;
        given_[rank] = own.data();
        barrier();
        for (int i = 0; i < size; i++) {
            const T *const from = static_cast<const T *>(given_[i]);
            all.insert(all.end(), from, from + own.size());
        }
        barrier();
        return all;
    }
    template <typename T> std::vector<T> gather(int rank, const T &own)
    {
        return gather(rank, std::vector<T>{own});
    }

    const int size;

  private:
    std::atomic<int> arrived_{0};
    std::atomic<unsigned> round_{0};
    const void *given_[max_ranks] = {};
};

/* A rank's inbox and those of the others. */
class peers
{
  public:
    std::string missing; /* why there is no peer memory; or empty */
    reduce_args args = {};

    peers(team &ranks, int rank, int device)
        : words_(size_t{2} * max_ranks * most_words + max_ranks * most_blocks),
          own_(2 * most_blocks), ranks_(ranks)
    {
        struct member {
            int device;
            unsigned long long *words;
        };
        const std::vector<member> members = ranks.gather(rank, member{device, words_.get()});
        for (int i = 0; i < ranks.size; i++) {
            const member &other = members[static_cast<size_t>(i)];
            if (other.device != device) {
                reach(device, other.device);
            }
            args.boxes[i] = {other.words, reinterpret_cast<unsigned *>(
                                              other.words + size_t{2} * max_ranks * most_words)};
        }
        for (const std::string &why :
             ranks.gather(rank, missing)) { /* all ranks do, or none does */
            missing = missing.empty() ? why : missing;
        }
        args.rounds = own_.get();
        args.failed = own_.get() + most_blocks;
        args.rank = rank;
        args.size = ranks.size;
    }
    ~peers()
    {
        ranks_.barrier(); /* nobody frees what another one may still write */
    }
    peers(const peers &) = delete;
    peers &operator=(const peers &) = delete;

    /* Whether a part did not come in time. */
    bool failed() const
    {
        return own_.host()[most_blocks] != 0;
    }

    /* Where a memset in front of a kernel goes. */
    unsigned *between() const
    {
        return own_.get() + most_blocks + 1;
    }

  private:
    void reach(int device, int other)
    {
        int access = 0;
        CHECK(cudaDeviceCanAccessPeer(&access, device, other));
        const cudaError_t error =
            access ? cudaDeviceEnablePeerAccess(other, 0) : cudaErrorPeerAccessUnsupported;
        if (error != cudaSuccess && error != cudaErrorPeerAccessAlreadyEnabled) {
            missing = "device " + std::to_string(device) + " cannot access the memory of device " +
                      std::to_string(other) + ": " + cudaGetErrorString(error);
        }
        (void)cudaGetLastError();
    }

    const device_buffer<unsigned long long> words_;
    const device_buffer<unsigned> own_; /* rounds, whether one failed, and a word to clear */
    team &ranks_;
};

#endif /* PDL_BENCH_PARALLEL_TEAM_CUH */
