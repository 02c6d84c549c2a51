/* SPDX-License-Identifier: MIT */
/* culprits [OPTION...]: 64 kernels of different names in a line of launches, all with overlap, which counts up in two
 * lanes. Exits with 1 where the result is wrong: in every cell one of the lanes should hold the number of launches.
 *
 *   --broken K          kernel K reads both lanes before its wait
 *   --together K,L      K reads the first lane before its wait and L the second: only both together make a wrong result
 *   --graph             captured, and launched as a graph
 *   --quick-host P      before it launches a broken kernel the host has other things to do, so that the launch comes too
 *                       late to overlap; but for one launch of a run, with the probability P
 *   --repeat N          N runs in this process; prints how many were wrong, and exits with 1 if any was
 *
 * Every kernel reads what the one before wrote, triggers, works for some µs and only then writes. */
#include <random>
#include <utility>

#include "programs.cuh"

static const int kernels = 64;
static const unsigned blocks = 64; /* those of two kernels find room at once on any device */
static const unsigned threads = 64;
static const unsigned cells = blocks * threads;
static const unsigned work_ns = 3000;
static const unsigned other_work_ns = 20000; /* of the host */

enum { FIRST_LANE = 1, SECOND_LANE = 2 };

struct lanes {
    unsigned cell[2][cells];
};

template <int Number, int Broken> static __global__ void stage(const lanes *from, lanes *to)
{
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned other = (own + cells / 2 + 1) % cells; /* of another block */
    volatile const lanes *const now = from;
    unsigned value[2] = {0, 0};
    if ((Broken & FIRST_LANE) != 0) {
        value[0] = now->cell[0][other];
    }
    if ((Broken & SECOND_LANE) != 0) {
        value[1] = now->cell[1][other];
    }
    cudaGridDependencySynchronize();
    if ((Broken & FIRST_LANE) == 0) {
        value[0] = now->cell[0][other];
    }
    if ((Broken & SECOND_LANE) == 0) {
        value[1] = now->cell[1][other];
    }
    cudaTriggerProgrammaticLaunchCompletion();
    spin(work_ns);
    to->cell[0][own] = value[0] + 1;
    to->cell[1][own] = value[1] + 1;
}

typedef void (*stage_kernel)(const lanes *from, lanes *to);

template <int... Numbers>
static stage_kernel find(int number, int broken, std::integer_sequence<int, Numbers...>)
{
    static const stage_kernel all_kernels[][4] = {
        {stage<Numbers, 0>, stage<Numbers, 1>, stage<Numbers, 2>, stage<Numbers, 3>}...};
    return all_kernels[number][broken];
}

/* ---- options ------------------------------------------------------------------------------------- */

static int broken[kernels];
static const unsigned rounds = 32; /* times through the kernels */
static unsigned repeats = 1;
static bool in_graph;
static double quick_host = 1;
static std::mt19937_64 random_numbers;

static bool break_kernel(const char *text, char **end, int how)
{
    const long number = strtol(text, end, 10);
    if (*end == text || number < 0 || number >= kernels) {
        return false;
    }
    broken[number] |= how;
    return true;
}

static bool read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        if (strcmp(option, "--graph") == 0) {
            in_graph = true;
            continue;
        }
        if (++i == argc) {
            return false;
        }
        char *end = argv[i];
        if (strcmp(option, "--broken") == 0) {
            if (!break_kernel(argv[i], &end, FIRST_LANE | SECOND_LANE)) {
                return false;
            }
        } else if (strcmp(option, "--together") == 0) {
            if (!break_kernel(argv[i], &end, FIRST_LANE) || *end != ',' ||
                !break_kernel(end + 1, &end, SECOND_LANE)) {
                return false;
            }
        } else if (strcmp(option, "--repeat") == 0) {
            repeats = strtoul(argv[i], &end, 10);
        } else if (strcmp(option, "--quick-host") == 0) {
            quick_host = strtod(argv[i], &end);
        } else {
            return false;
        }
        if (*end != '\0' || end == argv[i]) {
            return false;
        }
    }
    random_numbers.seed(host_ns());
    return repeats > 0 && !(in_graph && quick_host < 1);
}

/* ---- a run --------------------------------------------------------------------------------------- */

static lanes *buffers[2];
static cudaStream_t stream;

static void launch_all(unsigned quick_round)
{
    for (unsigned i = 0; i < rounds * kernels; i++) {
        const int number = static_cast<int>(i % kernels);
        const stage_kernel kernel =
            find(number, broken[number], std::make_integer_sequence<int, kernels>());
        if (broken[(number + 1) % kernels] != 0 && quick_host < 1) {
            CHECK(cudaStreamSynchronize(stream)); /* or the host is ahead, whatever it does */
        }
        if (broken[number] != 0 && quick_host < 1 && i / kernels != quick_round) {
            host_spin(other_work_ns);
        }
        launch(kernel, blocks, threads, 0, stream, true, buffers[i % 2], buffers[(i + 1) % 2]);
    }
}

static bool is_wrong()
{
    const unsigned expected = rounds * kernels;
    static lanes result;
    CHECK(cudaMemcpy(&result, buffers[expected % 2], sizeof(result), cudaMemcpyDeviceToHost));
    unsigned wrong = 0;
    for (unsigned i = 0; i < cells; i++) {
        wrong += result.cell[0][i] != expected && result.cell[1][i] != expected;
    }
    return wrong != 0;
}

static bool run(cudaGraphExec_t executable)
{
    for (lanes *buffer : buffers) {
        CHECK(cudaMemsetAsync(buffer, 0, sizeof(*buffer), stream));
    }
    if (executable != nullptr) {
        CHECK(cudaGraphLaunch(executable, stream));
    } else {
        const bool quick = std::uniform_real_distribution<>(0, 1)(random_numbers) < quick_host;
        const unsigned quick_round =
            std::uniform_int_distribution<unsigned>(1, rounds - 1)(random_numbers);
        launch_all(quick ? quick_round : rounds);
    }
    CHECK(cudaStreamSynchronize(stream));
    return is_wrong();
}

int main(int argc, char **argv)
{
    if (!read_options(argc, argv)) {
        fprintf(stderr,
                "usage: %s [--broken K] [--together K,L] [--graph] [--quick-host P] [--repeat N]\n",
                argv[0]);
        return 2;
    }
    need_device();
    for (lanes *&buffer : buffers) {
        CHECK(cudaMalloc(&buffer, sizeof(*buffer)));
    }
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const cudaGraphExec_t executable =
        in_graph ? record(stream, [] { launch_all(rounds); }) : nullptr;
    unsigned wrong = 0;
    for (unsigned i = 0; i < repeats; i++) {
        wrong += run(executable);
    }
    printf("%u launches, %u of %u runs wrong\n", rounds * kernels, wrong, repeats);
    return wrong != 0;
}
