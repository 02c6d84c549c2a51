/* SPDX-License-Identifier: MIT */
/* The ranks of a run on the host: threads of one process, or processes of one machine that meet under
 * a name. They have a barrier, an exchange of data, and a guard that ends a process with an error when
 * another one has died or has been silent for too long, whatever call it is stuck in. */
#ifndef PDL_BENCH_PARALLEL_TEAM_CUH
#define PDL_BENCH_PARALLEL_TEAM_CUH

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace parallel
{

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

/* A name in the environment by which processes find each other. */
struct place {
    int rank = -1, size = 0;
    std::string id;

    static bool number(const char *name, int *value)
    {
        const char *const text = std::getenv(name);
        if (text == nullptr) {
            return false;
        }
        char *end;
        const long got = std::strtol(text, &end, 10);
        if (*text == '\0' || *end != '\0' || got < 0 || got > 1000000) {
            die("%s=%s is not a number", name, text);
        }
        *value = static_cast<int>(got);
        return true;
    }

    /* From TENSOR_PARALLEL_RANK, _SIZE and _ID, or from what mpirun sets (Open MPI, MPICH and Intel
     * MPI); a size of 0 if there is nothing. The processes of one mpirun have the same parent. */
    static place from_environment()
    {
        static const char *const names[][2] = {{"TENSOR_PARALLEL_RANK", "TENSOR_PARALLEL_SIZE"},
                                               {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                               {"PMI_RANK", "PMI_SIZE"}};
        place p;
        for (const auto &name : names) {
            const bool has_rank = number(name[0], &p.rank), has_size = number(name[1], &p.size);
            if (has_rank != has_size) {
                die("%s is set and %s is not: both or none", name[!has_rank], name[has_rank]);
            }
            if (has_rank) {
                break;
            }
        }
        const char *const id = std::getenv("TENSOR_PARALLEL_ID");
        p.id = id != nullptr ? id : std::to_string(getppid());
        if (p.id.empty() || p.id.size() > 100 || p.id.find('/') != std::string::npos) {
            die("TENSOR_PARALLEL_ID has 1 to 100 characters and no slash");
        }
        for (const char *name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
            int here = p.size;
            if (p.size > 0 && number(name, &here) && here != p.size) {
                die("%d of %d processes are on this machine: all of them must be on one", here,
                    p.size);
            }
        }
        return p;
    }
};

class team
{
  public:
    static constexpr int most = 8;

    /* `ranks` of them are threads of this process. */
    team(int ranks, double limit) : size(ranks), limit_(limit)
    {
        memory_ = static_cast<memory *>(mmap(nullptr, sizeof(memory), PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (memory_ == MAP_FAILED) {
            die("no memory for the ranks' exchange");
        }
        guard_ = std::thread(&team::guard, this, -1);
    }

    /* Meets the other processes: rank 0 makes a file in memory, and the others find it by its name.
     * Each locks a byte of it. The lock goes with the process, however that ends. */
    team(const place &p, double limit) : size(p.size), limit_(limit)
    {
        name_ = "/tensor_parallel." + std::to_string(getuid()) + "." + p.id;
        if (p.rank == 0) {
            make();
        } else {
            find(p.rank);
        }
        guard_ = std::thread(&team::guard, this, p.rank);
        if (memory_->size != size) {
            die("rank %d is one of %d, and rank 0 one of %d", p.rank, size, memory_->size);
        }
        barrier();
        forget_name();
    }
    ~team()
    {
        ended_ = true;
        guard_.join();
    }
    team(const team &) = delete;
    team &operator=(const team &) = delete;

    /* Returns when all ranks have called it. */
    void barrier()
    {
        progress();
        const unsigned round = memory_->round.load();
        if (memory_->arrived.fetch_add(1) + 1 == static_cast<unsigned>(size)) {
            memory_->arrived = 0;
            memory_->round = round + 1;
        }
        for (unsigned tries = 0; memory_->round.load() == round; tries++) {
            if (tries > 100000) {
                std::this_thread::yield();
            }
        }
        progress();
    }

    /* What every rank gives, in order. */
    template <typename T> std::vector<T> gather(int rank, const T &own)
    {
        std::vector<T> all(static_cast<size_t>(size), own);
        exchange(rank, &own, sizeof(T), reinterpret_cast<char *>(all.data()));
        return all;
    }
    template <typename T> std::vector<T> gather(int rank, const std::vector<T> &own)
    {
        std::vector<T> all(own.size() * static_cast<size_t>(size));
        exchange(rank, own.data(), own.size() * sizeof(T), reinterpret_cast<char *>(all.data()));
        return all;
    }

    /* No rank ends before all have called it. */
    void leave()
    {
        barrier();
        memory_->done = 1;
        barrier();
    }

    /* Called now and then in long work. */
    void progress()
    {
        progress_ = now();
    }

    const int size;

  private:
    static constexpr size_t share = size_t{1} << 20;
    static constexpr int ready_value = 0x7ea3;

    struct memory {
        std::atomic<int> ready;
        int size;
        std::atomic<unsigned> arrived, round;
        std::atomic<int> done;
        char data[most][share];
    };

    /* When all have come, or rank 0 gives up: nothing stays behind. */
    void forget_name()
    {
        if (!name_.empty()) {
            shm_unlink(name_.c_str());
            name_.clear();
        }
    }

    static double now()
    {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }

    static void pause()
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }

    static struct flock lock_of(int rank)
    {
        struct flock lock = {};
        lock.l_type = F_WRLCK;
        lock.l_whence = SEEK_SET;
        lock.l_start = rank;
        lock.l_len = 1;
        return lock;
    }

    /* Whether another process has that rank. */
    static bool lives(int file, int rank)
    {
        struct flock lock = lock_of(rank);
        return fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    }

    static bool take(int file, int rank)
    {
        struct flock lock = lock_of(rank);
        return fcntl(file, F_SETLK, &lock) == 0;
    }

    void map()
    {
        memory_ = static_cast<memory *>(
            mmap(nullptr, sizeof(memory), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
        if (memory_ == MAP_FAILED) {
            die("%s: %s", name_.c_str(), std::strerror(errno));
        }
    }

    void make()
    {
        const int old = shm_open(name_.c_str(), O_RDWR, 0600);
        if (old >= 0) { /* of a run that was killed, or of one that runs */
            if (lives(old, 0)) {
                die("rank 0 of this run is there already; another TENSOR_PARALLEL_ID makes another "
                    "run");
            }
            close(old);
            shm_unlink(name_.c_str());
        }
        file_ = shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
        if (file_ < 0 || !take(file_, 0) || ftruncate(file_, sizeof(memory)) != 0) {
            die("%s: %s", name_.c_str(), std::strerror(errno));
        }
        map();
        memory_->size = size;
        memory_->ready = ready_value;
    }

    void find(int rank)
    {
        for (;; pause()) {
            if (now() - progress_ > limit_) {
                die("rank %d: rank 0 did not come within %g s", rank, limit_);
            }
            file_ = shm_open(name_.c_str(), O_RDWR, 0600);
            if (file_ >= 0 && lives(file_, 0)) {
                break;
            }
            if (file_ >= 0) { /* left behind */
                close(file_);
            }
        }
        if (!take(file_, rank)) {
            die("rank %d of this run is there already", rank);
        }
        while (lseek(file_, 0, SEEK_END) < static_cast<off_t>(sizeof(memory)) && lives(file_, 0)) {
            pause();
        }
        map();
        while (memory_->ready != ready_value && lives(file_, 0)) {
            pause();
        }
        name_.clear(); /* it is rank 0's */
    }

    void exchange(int rank, const void *own, size_t bytes, char *all)
    {
        if (bytes > share) {
            die("%zu bytes are too many to exchange", bytes);
        }
        std::memcpy(memory_->data[rank], own, bytes);
        barrier();
        for (int i = 0; i < size; i++) {
            std::memcpy(all + static_cast<size_t>(i) * bytes, memory_->data[i], bytes);
        }
        barrier();
    }

    /* `rank` is negative where all are threads of this process. */
    void guard(int rank)
    {
        std::vector<bool> seen(most);
        for (; !ended_; pause()) {
            if (memory_->done) {
                continue;
            }
            for (int i = 0; rank >= 0 && i < size; i++) {
                const bool there = i == rank || lives(file_, i);
                if (seen[static_cast<size_t>(i)] && !there && !memory_->done) {
                    forget_name();
                    die("rank %d: rank %d has ended too early", rank, i);
                }
                seen[static_cast<size_t>(i)] = there;
            }
            if (now() - progress_ > limit_) {
                forget_name();
                die("rank %d: the others made no progress for %g s", std::max(rank, 0), limit_);
            }
        }
    }

    double limit_;
    std::string name_;
    std::atomic<double> progress_{now()};
    std::atomic<bool> ended_{false};
    memory *memory_ = nullptr;
    int file_ = -1;
    std::thread guard_;
};

} // namespace parallel

#endif /* PDL_BENCH_PARALLEL_TEAM_CUH */
