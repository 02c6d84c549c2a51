/* SPDX-License-Identifier: MIT */
/* A communicator of NCCL, or the reason why there is none. */
#ifndef PDL_BENCH_PARALLEL_NCCL_CUH
#define PDL_BENCH_PARALLEL_NCCL_CUH

#include "decode_device.cuh"
#include "parallel_team.cuh"

#ifdef PDL_BENCH_NCCL

#include <dlfcn.h>
#include <nccl.h>

#define PARALLEL_NCCL_CALLS(use)                                                                   \
    use(GetVersion) use(GetErrorString) use(GetLastError) use(GetUniqueId) use(CommInitRank)       \
        use(CommDestroy) use(MemAlloc) use(MemFree) use(CommWindowRegister)                        \
            use(CommWindowDeregister) use(AllReduce)

/* NCCL's functions, loaded when the program runs: so it runs, without them, where they are missing. */
struct nccl_library {
#define PARALLEL_NCCL_MEMBER(name) decltype(&nccl##name) name = nullptr;
    PARALLEL_NCCL_CALLS(PARALLEL_NCCL_MEMBER)
    std::string missing; /* why it cannot be used; or empty */
    int version = 0;     /* which need not be that of the header */

    nccl_library()
    {
        void *const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            missing = dlerror();
            return;
        }
        const char *lacks = nullptr;
#define PARALLEL_NCCL_LOAD(name)                                                                   \
    name = reinterpret_cast<decltype(name)>(dlsym(library, "nccl" #name));                         \
    lacks = name == nullptr ? "nccl" #name : lacks;
        PARALLEL_NCCL_CALLS(PARALLEL_NCCL_LOAD)
        if (GetVersion != nullptr && GetVersion(&version) == ncclSuccess && version < needed) {
            missing = "version " + std::to_string(version) + " was loaded, and " +
                      std::to_string(needed) + " or newer is needed";
        } else if (lacks != nullptr) {
            missing = std::string("libnccl.so.2 lacks ") + lacks;
        }
    }

    static constexpr int needed = NCCL_VERSION(2, 27, 3);
};

inline const nccl_library &nccl()
{
    static const nccl_library loaded;
    return loaded;
}

inline void check_nccl(ncclResult_t result, const char *call)
{
    if (result != ncclSuccess) {
        die("nccl%s: %s; %s", call, nccl().GetErrorString(result), nccl().GetLastError(nullptr));
    }
}

#define CHECK_NCCL(name, ...) check_nccl(nccl().name(__VA_ARGS__), #name)

/* The kernels for registered buffers are launched with PDL's attribute. Those of 2.28 to 2.30.4 do not
 * wait. */
inline bool nccl_waits()
{
    return nccl().version < NCCL_VERSION(2, 28, 0) || nccl().version >= NCCL_VERSION(2, 30, 7);
}

class nccl_team
{
  public:
    static int version()
    {
        return nccl().version;
    }
    static std::string missing()
    {
        return nccl().missing;
    }

    nccl_team(team &ranks, int rank, size_t window_bytes)
    {
        ncclUniqueId id = {};
        if (rank == 0) {
            CHECK_NCCL(GetUniqueId, &id);
        }
        CHECK_NCCL(CommInitRank, &comm_, ranks.size, ranks.gather(rank, id)[0], rank);
        CHECK_NCCL(MemAlloc, &memory_, window_bytes);
        const ncclResult_t result = nccl().CommWindowRegister(comm_, memory_, window_bytes,
                                                              &window_, NCCL_WIN_COLL_SYMMETRIC);
        for (const int other : ranks.gather(rank, static_cast<int>(result))) {
            registered_ = registered_ && other == ncclSuccess && window_ != nullptr;
        }
    }
    ~nccl_team()
    {
        if (window_ != nullptr) {
            nccl().CommWindowDeregister(comm_, window_);
        }
        nccl().MemFree(memory_);
        nccl().CommDestroy(comm_);
    }
    nccl_team(const nccl_team &) = delete;
    nccl_team &operator=(const nccl_team &) = delete;

    /* Memory that NCCL has registered on all ranks, or NULL. */
    bf16 *window() const
    {
        return registered_ ? static_cast<bf16 *>(memory_) : nullptr;
    }

    void sum(const bf16 *x, bf16 *y, int count, cudaStream_t stream) const
    {
        CHECK_NCCL(AllReduce, x, y, static_cast<size_t>(count), ncclBfloat16, ncclSum, comm_,
                   stream);
    }

  private:
    ncclComm_t comm_ = nullptr;
    ncclWindow_t window_ = nullptr;
    bool registered_ = true;
    void *memory_ = nullptr;
};

#else

inline bool nccl_waits()
{
    return true;
}

class nccl_team
{
  public:
    static int version()
    {
        return 0;
    }
    static std::string missing()
    {
        return "this program was built without NCCL";
    }
    nccl_team(team &, int, size_t)
    {
    }
    bf16 *window() const
    {
        return nullptr;
    }
    void sum(const bf16 *, bf16 *, int, cudaStream_t) const
    {
    }
};

#endif

#endif /* PDL_BENCH_PARALLEL_NCCL_CUH */
