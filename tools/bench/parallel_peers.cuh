/* SPDX-License-Identifier: MIT */
/* What the ranks know of each other's devices, and the inboxes in their memory. */
#ifndef PDL_BENCH_PARALLEL_PEERS_CUH
#define PDL_BENCH_PARALLEL_PEERS_CUH

#include "parallel_reduce.cuh"
#include "parallel_shard.cuh"
#include "parallel_team.cuh"

namespace parallel
{

/* Of one rank, as the others see it. */
struct member {
    int device, multiprocessors, major;
    bool one_process;
    char name[128], bus[32];
    unsigned long long *words; /* in the same process */
    cudaIpcMemHandle_t handle; /* from another one */
};

class peers
{
  public:
    std::vector<member> members;
    std::string missing; /* why there is no peer memory; or empty */

    /* `allowed` is false to do as if no device could reach another. Several ranks may be on one
     * device only where `shared` is true. */
    peers(team &ranks, int rank, int device, bool one_process, bool shared, bool allowed)
        : words_(size_t{2} * max_ranks * most_words + max_ranks * most_blocks),
          own_(2 * most_blocks), ranks_(ranks), rank_(rank)
    {
        member me = {};
        pdl_device_info info = PDL_DEVICE_INFO_INIT;
        CHECK(pdl_device_get(device, &info));
        me.device = device;
        me.multiprocessors = info.multiprocessor_count;
        me.major = info.compute_capability_major;
        me.one_process = one_process;
        std::snprintf(me.name, sizeof(me.name), "%s", info.name);
        CHECK(cudaDeviceGetPCIBusId(me.bus, sizeof(me.bus), device));
        me.words = words_.get();
        if (!one_process && ranks.size > 1) {
            CHECK(cudaIpcGetMemHandle(&me.handle, words_.get()));
        }
        members = ranks.gather(rank, me);
        check_members(shared);
        for (int i = 0; i < ranks.size && missing.empty(); i++) {
            boxes_[i] = inbox_of(i == rank ? words_.get()
                                           : reach(members[static_cast<size_t>(i)], allowed));
        }
        struct reason {
            char text[300];
        } why = {};
        std::snprintf(why.text, sizeof(why.text), "%s", missing.c_str());
        for (const reason &other : ranks.gather(rank, why)) { /* all ranks do, or none does */
            missing = missing.empty() ? other.text : missing;
        }
        args = {};
        std::copy(boxes_, boxes_ + max_ranks, args.boxes);
        args.rounds = own_.get();
        args.failed = own_.get() + most_blocks;
        args.rank = rank;
        args.size = ranks.size;
    }
    ~peers()
    {
        for (void *memory : opened_) {
            cudaIpcCloseMemHandle(memory);
        }
        ranks_.barrier(); /* nobody frees what another one still has open */
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

    reduce_args args = {};

  private:
    static inbox inbox_of(unsigned long long *words)
    {
        return {words, reinterpret_cast<unsigned *>(words + size_t{2} * max_ranks * most_words)};
    }

    void check_members(bool shared) const
    {
        for (size_t i = 0; i < members.size(); i++) {
            const member &m = members[i], &first = members[0];
            if (m.major < 9) {
                die("rank %zu: %s is of compute capability %d.x, and 9.0 or newer is needed", i,
                    m.name, m.major);
            }
            if (rank_ == 0 && (std::strcmp(m.name, first.name) != 0 ||
                               m.multiprocessors != first.multiprocessors)) {
                std::printf("rank %zu has %s with %d multiprocessors, and rank 0 %s with %d: the "
                            "slower one "
                            "sets the time\n",
                            i, m.name, m.multiprocessors, first.name, first.multiprocessors);
            }
            for (size_t k = 0; k < i && !shared; k++) {
                if (std::strcmp(members[k].bus, m.bus) == 0) {
                    die("ranks %zu and %zu are both on device %s; each needs its own", k, i, m.bus);
                }
            }
        }
    }

    /* The inbox of another rank; without access, NULL and the reason. */
    unsigned long long *reach(const member &other, bool allowed)
    {
        const std::string text = std::string("rank ") + std::to_string(rank_) +
                                 " cannot access the memory of " + other.name + " " + other.bus;
        if (!allowed) {
            missing = text + ": --without-peer-access";
            return nullptr;
        }
        if (other.one_process) {
            int access = 0;
            const int device = members[static_cast<size_t>(rank_)].device;
            if (other.device != device) {
                CHECK(cudaDeviceCanAccessPeer(&access, device, other.device));
                const cudaError_t error = access ? cudaDeviceEnablePeerAccess(other.device, 0)
                                                 : cudaErrorPeerAccessUnsupported;
                if (error != cudaSuccess && error != cudaErrorPeerAccessAlreadyEnabled) {
                    missing = text + ": " + cudaGetErrorString(error);
                }
                (void)cudaGetLastError();
            }
            return other.words;
        }
        void *memory = nullptr;
        const cudaError_t error =
            cudaIpcOpenMemHandle(&memory, other.handle, cudaIpcMemLazyEnablePeerAccess);
        if (error != cudaSuccess) {
            missing = text + ": " + cudaGetErrorString(error);
            (void)cudaGetLastError();
            return nullptr;
        }
        opened_.push_back(memory);
        return static_cast<unsigned long long *>(memory);
    }

    const device_buffer<unsigned long long> words_;
    const device_buffer<unsigned> own_; /* rounds, whether one failed, and a word to clear */
    inbox boxes_[max_ranks] = {};
    std::vector<void *> opened_;
    team &ranks_;
    const int rank_;
};

} // namespace parallel

#endif /* PDL_BENCH_PARALLEL_PEERS_CUH */
