/* SPDX-License-Identifier: MIT */
/* several threads|processes|devices: chains of kernels with overlap from four threads, from two processes, on all
 * devices at once. Linked to the static CUDA Runtime. Checks its results. */
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "programs.cuh"

static const unsigned blocks = 64, threads = 128, cells = blocks * threads, steps = 500;

static __global__ void add_one(const unsigned *from, unsigned *to)
{
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
    to[own] = from[(own + cells / 2) % cells] + 1;
}

/* The number of cells that are wrong. */
static unsigned run_chain(int device)
{
    CHECK(cudaSetDevice(device));
    unsigned *buffers[2];
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (unsigned *&buffer : buffers) {
        CHECK(cudaMalloc(&buffer, cells * sizeof(*buffer)));
        CHECK(cudaMemsetAsync(buffer, 0, cells * sizeof(*buffer), stream));
    }
    for (unsigned i = 0; i < steps; i++) {
        launch(add_one, blocks, threads, 0, stream, true, buffers[i % 2], buffers[(i + 1) % 2]);
    }
    std::vector<unsigned> result(cells);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(result.data(), buffers[steps % 2], cells * sizeof(unsigned),
                     cudaMemcpyDeviceToHost));
    unsigned wrong = 0;
    for (const unsigned cell : result) {
        wrong += cell != steps;
    }
    return wrong;
}

static unsigned run_threads(const std::vector<int> &devices)
{
    std::vector<std::thread> running;
    std::vector<unsigned> wrong(devices.size());
    for (size_t i = 0; i < devices.size(); i++) {
        running.emplace_back([&, i] { wrong[i] = run_chain(devices[i]); });
    }
    unsigned sum = 0;
    for (size_t i = 0; i < devices.size(); i++) {
        running[i].join();
        sum += wrong[i];
    }
    return sum;
}

/* Forks before anything of CUDA is called, as CUDA wants it. */
static int run_processes()
{
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        if (child < 0) {
            perror("fork");
            return 3;
        }
        if (child == 0) {
            need_device();
            exit(run_chain(0) != 0);
        }
    }
    int status = 0, worst = 0;
    while (wait(&status) > 0) {
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 3;
        worst = code > worst ? code : worst;
    }
    return worst;
}

int main(int argc, char **argv)
{
    const char *way = argc == 2 ? argv[1] : "";
    if (strcmp(way, "processes") == 0) {
        return run_processes();
    }
    std::vector<int> devices = {0, 0, 0, 0};
    if (strcmp(way, "devices") == 0) {
        int count = 0;
        need_device();
        CHECK(cudaGetDeviceCount(&count));
        if (count < 2) {
            fprintf(stderr, "skipped: one device\n");
            return 77;
        }
        devices.clear();
        for (int i = 0; i < count; i++) {
            devices.push_back(i);
        }
    } else if (strcmp(way, "threads") != 0) {
        fprintf(stderr, "usage: %s threads|processes|devices\n", argv[0]);
        return 2;
    }
    need_device();
    const unsigned wrong = run_threads(devices);
    printf("%zu chains, %u cells wrong\n", devices.size(), wrong);
    return wrong != 0;
}
