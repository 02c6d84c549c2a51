/* SPDX-License-Identifier: MIT */
/* What a sequence of kernels costs as ordinary launches, as raw launches with the PDL attribute, as
 * raw captured graphs and as a chain, in one run: microseconds a kernel on the device and with the
 * host's part, medians of rounds in which the methods take turns. */
#include <cuda.h>
#include <dlfcn.h>

#include "bench.cuh"
#include "chain_sequence.cuh"
#include "timing.cuh"

/* ---- what is measured ----------------------------------------------------------------------- */

/* One kernel's share in microseconds, by round. */
struct samples {
    std::vector<double> device; /* the host out of the way */
    std::vector<double> wall;   /* from the first launch call until the stream is empty */
};

static std::vector<double> ratios(const std::vector<double> &of, const std::vector<double> &to)
{
    std::vector<double> found;
    for (size_t i = 0; i < of.size(); i++) {
        found.push_back(of[i] / to[i]);
    }
    return found;
}

struct result {
    samples by_method[METHOD_COUNT];
    bool good = false;
};

static result measure(const configuration &config, unsigned kernels, int rounds, gated_stream &gate)
{
    result found;
    sequence timed(config, config.phases, kernels, gate.stream);
    found.good = timed.edges_are_right();
    for (int how = 0; how < METHOD_COUNT; how++) { /* loads and uploads what is new */
        timed.launch(static_cast<method>(how));
        CHECK(cudaStreamSynchronize(gate.stream));
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < METHOD_COUNT; i++) {
            const method how = static_cast<method>((round + i) % METHOD_COUNT);
            samples &to = found.by_method[how];
            to.device.push_back(gate.run([&] { timed.launch(how); }) / kernels);
            const double begin = now_ns();
            timed.launch(how);
            CHECK(cudaStreamSynchronize(gate.stream));
            to.wall.push_back((now_ns() - begin) / 1e3 / kernels);
        }
    }
    if (config.phases) {
        found.good = timed.ran_in_order() && found.good;
        return found;
    }
    /* A check in an empty kernel would be most of what is measured: another kernel does it. */
    sequence checked(config, true, kernels, gate.stream);
    found.good = checked.edges_are_right() && found.good;
    for (int i = 0; i < 5 * METHOD_COUNT; i++) {
        checked.launch(static_cast<method>(i % METHOD_COUNT));
    }
    found.good = checked.ran_in_order() && found.good;
    return found;
}

/* Changing the arguments of one kernel: nanoseconds a call, by round. */
struct update_result {
    std::vector<double> chain;   /* pdl_chain_set_args */
    std::vector<double> driver;  /* cuGraphExecKernelNodeSetParams */
    std::vector<double> runtime; /* cudaGraphExecKernelNodeSetParams */
    bool good = false;
};

typedef decltype(&cuGraphExecKernelNodeSetParams) set_params_function;

#define NAME_OF(name)  NAME_OF_(name)
#define NAME_OF_(name) #name

static set_params_function find_set_params()
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    void *const found =
        library != nullptr ? dlsym(library, NAME_OF(cuGraphExecKernelNodeSetParams)) : nullptr;
    if (found == nullptr) {
        std::fprintf(stderr, "libcuda.so.1 has no cuGraphExecKernelNodeSetParams\n");
        std::exit(1);
    }
    return reinterpret_cast<set_params_function>(found);
}

/* A kernel in the middle of a chain and a node of the raw graph, and the ways to give them
 * arguments. */
class updates
{
  public:
    explicit updates(sequence &of)
        : of_(of), link_(of.kernels() / 2), after_link_((link_ + 1) % of.kernels()),
          set_params_(find_set_params())
    {
        const configuration &config = of.config();
        std::vector<cudaGraphNode_t> nodes(of.kernels());
        size_t count = nodes.size();
        cudaKernelNodeParams known;
        cudaFunction_t function = nullptr;
        CHECK(cudaGraphGetNodes(of.programmatic_graph(), nodes.data(), &count));
        node_ = nodes[count / 2]; /* whichever that is */
        CHECK(cudaGraphKernelNodeGetParams(node_, &known));
        std::memcpy(&number_, known.kernelParams[1], sizeof(number_));
        std::memcpy(&after_it_, known.kernelParams[2], sizeof(after_it_));

        CHECK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(of.symbol())));
        driver_params_.func = function;
        driver_params_.gridDimX = config.grid;
        driver_params_.gridDimY = driver_params_.gridDimZ = 1;
        driver_params_.blockDimX = config.block;
        driver_params_.blockDimY = driver_params_.blockDimZ = 1;
        runtime_params_.func = reinterpret_cast<void *>(of.symbol());
        runtime_params_.gridDim = config.grid;
        runtime_params_.blockDim = config.block;
    }

    /* `mark` makes a kernel believe that it is another one's turn; `i` goes to parameters that are
     * not used. */
    void by_chain(unsigned mark, unsigned i)
    {
        unsigned number = link_ + mark;
        order *turn = of_.turn();
        CHECK(pdl_chain_set_args(of_.chain(), link_, PDL_ARGS(turn, number, after_link_, i, i, i)));
    }
    void by_driver(unsigned mark, unsigned i)
    {
        unsigned number = number_ + mark;
        order *turn = of_.turn();
        void *args[] = {&turn, &number, &after_it_, &i, &i, &i};
        driver_params_.kernelParams = args;
        if (set_params_(of_.programmatic_exec(), node_, &driver_params_) != CUDA_SUCCESS) {
            std::fprintf(stderr, "cuGraphExecKernelNodeSetParams failed\n");
            std::exit(1);
        }
    }
    void by_runtime(unsigned mark, unsigned i)
    {
        unsigned number = number_ + mark;
        order *turn = of_.turn();
        void *args[] = {&turn, &number, &after_it_, &i, &i, &i};
        runtime_params_.kernelParams = args;
        CHECK(cudaGraphExecKernelNodeSetParams(of_.programmatic_exec(), node_, &runtime_params_));
    }

    /* One kernel out of turn after a call with a mark, and none after one without. */
    template <typename Set> bool arrives(Set &&set, method how)
    {
        of_.forget_order();
        set(1000000u);
        of_.launch(how);
        const unsigned marked = of_.read_order().wrong;
        set(0u);
        of_.launch(how);
        const unsigned unmarked = of_.read_order().wrong;
        if (marked != 1 || unmarked != 1) {
            std::fprintf(stderr, "%s: %u, then %u kernels saw the new arguments, not 1 and 1\n",
                         methods[how].name, marked, unmarked);
            return false;
        }
        return true;
    }

  private:
    sequence &of_;
    const unsigned link_;
    const unsigned after_link_; /* the number of the kernel after it */
    const set_params_function set_params_;
    cudaGraphNode_t node_ = nullptr;
    unsigned number_ = 0; /* of the node's kernel */
    unsigned after_it_ = 0;
    CUDA_KERNEL_NODE_PARAMS driver_params_ = {};
    cudaKernelNodeParams runtime_params_ = {};
};

template <typename Call> static double batch_ns(unsigned calls, Call &&call)
{
    const double begin = now_ns();
    for (unsigned i = 0; i < calls; i++) {
        call(i);
    }
    return (now_ns() - begin) / calls;
}

static update_result measure_updates(unsigned kernels, int rounds, gated_stream &gate)
{
    const unsigned calls = 200;
    update_result found;
    sequence checked(configurations[0], true, kernels, gate.stream);
    updates ways(checked);
    found.good = ways.arrives([&](unsigned mark) { ways.by_chain(mark, 0); }, CHAIN) &&
                 ways.arrives([&](unsigned mark) { ways.by_driver(mark, 0); }, GRAPH_PDL) &&
                 ways.arrives([&](unsigned mark) { ways.by_runtime(mark, 0); }, GRAPH_PDL);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 3; i++) {
            switch ((round + i) % 3) {
            case 0:
                found.chain.push_back(batch_ns(calls, [&](unsigned n) { ways.by_chain(0, n); }));
                break;
            case 1:
                found.driver.push_back(batch_ns(calls, [&](unsigned n) { ways.by_driver(0, n); }));
                break;
            default:
                found.runtime.push_back(
                    batch_ns(calls, [&](unsigned n) { ways.by_runtime(0, n); }));
                break;
            }
        }
    }
    return found;
}

/* Making what is launched later, in microseconds for the whole sequence, by round. */
struct build_result {
    std::vector<double> capture;
    std::vector<double> instantiate;
    std::vector<double> add;
    std::vector<double> build;
};

static build_result measure_builds(unsigned kernels, int rounds, gated_stream &gate)
{
    build_result found;
    sequence made(configurations[0], false, kernels, gate.stream);
    for (int round = 0; round < rounds; round++) {
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t exec = nullptr;
        pdl_chain *chain = nullptr;
        const double start = now_ns();
        made.capture(STREAM_PDL, &graph, nullptr);
        const double captured = now_ns();
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        const double instantiated = now_ns();
        CHECK(cudaGraphExecDestroy(exec));
        CHECK(cudaGraphDestroy(graph));
        const double again = now_ns();
        CHECK(pdl_chain_create(nullptr, &chain));
        made.add_links(chain);
        const double added = now_ns();
        CHECK(pdl_chain_build(chain));
        const double built = now_ns();
        pdl_chain_destroy(chain);
        found.capture.push_back((captured - start) / 1e3);
        found.instantiate.push_back((instantiated - captured) / 1e3);
        found.add.push_back((added - again) / 1e3);
        found.build.push_back((built - added) / 1e3);
    }
    return found;
}

/* ---- what is told --------------------------------------------------------------------------- */

static void json_quantiles(FILE *json, const char *key, const std::vector<double> &values,
                           const char *end)
{
    if (json != nullptr) {
        std::fprintf(json, "\"%s\": {\"median\": %.5f, \"p25\": %.5f, \"p75\": %.5f}%s", key,
                     median(values), quantile(values, 0.25), quantile(values, 0.75), end);
    }
}

static void json_text(FILE *json, const char *text)
{
    if (json != nullptr) {
        std::fputs(text, json);
    }
}

static void print_quantiles(const std::vector<double> &values)
{
    std::printf(" %8.3f (%.3f to %.3f)", median(values), quantile(values, 0.25),
                quantile(values, 0.75));
}

static void report_configuration(FILE *json, const configuration &config, const result &found)
{
    const samples &plain = found.by_method[PLAIN];
    const samples &raw = found.by_method[GRAPH_PDL];
    const samples &chain = found.by_method[CHAIN];
    std::printf("%s, %u x %u\n", config.name, config.grid, config.block);
    if (json != nullptr) {
        std::fprintf(json, "\n  \"%s\": {\"grid\": %u, \"block\": %u, \"methods\": {", config.key,
                     config.grid, config.block);
    }
    for (int how = 0; how < METHOD_COUNT; how++) {
        const samples &of = found.by_method[how];
        std::printf("  %-36s device", methods[how].name);
        print_quantiles(of.device);
        std::printf("   wall");
        print_quantiles(of.wall);
        std::printf("\n");
        if (json != nullptr) {
            std::fprintf(json, "%s\n    \"%s\": {", how > 0 ? "," : "", methods[how].key);
        }
        json_quantiles(json, "device_us", of.device, ", ");
        json_quantiles(json, "wall_us", of.wall, "}");
    }
    const struct {
        const char *key;
        const char *name;
        std::vector<double> values;
    } compared[] = {
        {"chain_to_graph_pdl_device", "chain / raw programmatic graph, device",
         ratios(chain.device, raw.device)},
        {"chain_to_graph_pdl_wall", "chain / raw programmatic graph, wall",
         ratios(chain.wall, raw.wall)},
        {"plain_to_chain_device", "<<<>>> / chain, device", ratios(plain.device, chain.device)},
        {"plain_to_chain_wall", "<<<>>> / chain, wall", ratios(plain.wall, chain.wall)},
    };
    json_text(json, "}, \"ratios\": {");
    for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++) {
        std::printf("    %-40s", compared[i].name);
        print_quantiles(compared[i].values);
        std::printf("\n");
        json_text(json, i > 0 ? ",\n    " : "\n    ");
        json_quantiles(json, compared[i].key, compared[i].values, "");
    }
    json_text(json, "}}");
}

static void report_updates(FILE *json, const update_result &found, unsigned kernels)
{
    const std::vector<double> to_driver = ratios(found.chain, found.driver);
    const std::vector<double> to_runtime = ratios(found.chain, found.runtime);
    const struct {
        const char *key;
        const char *name;
        const std::vector<double> &values;
    } rows[] = {
        {"chain_ns", "pdl_chain_set_args", found.chain},
        {"driver_ns", "cuGraphExecKernelNodeSetParams", found.driver},
        {"runtime_ns", "cudaGraphExecKernelNodeSetParams", found.runtime},
        {"chain_to_driver", "chain / driver", to_driver},
        {"chain_to_runtime", "chain / runtime", to_runtime},
    };
    std::printf("new arguments for one of %u kernels, host ns a call\n", kernels);
    json_text(json, "},\n\"set_args\": {");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        std::printf("  %-36s", rows[i].name);
        print_quantiles(rows[i].values);
        std::printf("\n");
        json_text(json, i > 0 ? ",\n  " : "\n  ");
        json_quantiles(json, rows[i].key, rows[i].values, "");
    }
}

static void report_builds(FILE *json, const build_result &found, unsigned kernels)
{
    const struct {
        const char *key;
        const char *name;
        const std::vector<double> &values;
    } rows[] = {
        {"capture_us", "capture", found.capture},
        {"instantiate_us", "cudaGraphInstantiate", found.instantiate},
        {"chain_add_us", "pdl_chain_create and pdl_chain_add", found.add},
        {"chain_build_us", "pdl_chain_build", found.build},
    };
    std::printf("making %u kernels ready, host us for all\n", kernels);
    json_text(json, "},\n\"build\": {");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        std::printf("  %-36s", rows[i].name);
        print_quantiles(rows[i].values);
        std::printf("\n");
        json_text(json, i > 0 ? ",\n  " : "\n  ");
        json_quantiles(json, rows[i].key, rows[i].values, "");
    }
    json_text(json, "}}\n");
}

static int usage()
{
    std::fprintf(stderr, "usage: pdl_chain_cost [--rounds N] [--kernels N] [--json FILE]\n"
                         "N is at least 1 for rounds, 2 to 800 for kernels\n");
    return 2;
}

int main(int argc, char **argv)
{
    const char *json_path = nullptr;
    int rounds = 200;
    int kernels = 200;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (std::strcmp(argv[i], "--json") == 0 && *value != '\0') {
            json_path = value;
        } else if (std::strcmp(argv[i], "--rounds") == 0 && std::atoi(value) > 0) {
            rounds = std::atoi(value);
        } else if (std::strcmp(argv[i], "--kernels") == 0 && std::atoi(value) > 1 &&
                   std::atoi(value) <= 800) { /* what the launch queue holds */
            kernels = std::atoi(value);
        } else {
            return usage();
        }
    }
    require_device("pdl_chain_cost");
    FILE *json = nullptr;
    if (json_path != nullptr && (json = std::fopen(json_path, "w")) == nullptr) {
        std::perror(json_path);
        return 1;
    }
    const unsigned count = static_cast<unsigned>(kernels);
    const bench_place place = find_bench_place();
    gated_stream gate;
    std::printf("%s, CUDA driver %d.%d, runtime %d.%d, %s\n", place.device.c_str(),
                place.driver_version / 1000, place.driver_version % 1000 / 10,
                CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, place.date.c_str());
    std::printf(
        "us a kernel of %u: median of %d interleaved rounds (p25 to p75); device: events, behind a "
        "gate; wall: CLOCK_MONOTONIC, from the first launch call to an empty stream; ratios: "
        "medians "
        "of the rounds' ratios\n",
        count, rounds);
    if (json != nullptr) {
        std::fprintf(json,
                     "{\"program\": \"pdl_chain_cost\", \"date\": \"%s\", \"device\": \"%s\", "
                     "\"driver\": \"%s\", \"driver_version\": %d, \"runtime_version\": %d, "
                     "\"pdl_version\": %u, \"clock\": \"CLOCK_MONOTONIC\", \"rounds\": %d, "
                     "\"kernels\": %u,\n\"configurations\": {",
                     place.date.c_str(), place.device.c_str(), place.driver.c_str(),
                     place.driver_version, CUDART_VERSION, static_cast<unsigned>(pdl_version()),
                     rounds, count);
    }
    bool good = true;
    for (int i = 0; i < configuration_count; i++) {
        const result found = measure(configurations[i], count, rounds, gate);
        good = good && found.good;
        json_text(json, i > 0 ? "," : "");
        report_configuration(json, configurations[i], found);
    }
    const update_result updated = measure_updates(count, rounds, gate);
    good = good && updated.good;
    report_updates(json, updated, count);
    report_builds(json, measure_builds(count, std::min(rounds, 30), gate), count);
    if (json != nullptr && std::fclose(json) != 0) {
        std::perror(json_path);
        return 1;
    }
    if (!good) {
        std::fprintf(stderr, "pdl_chain_cost: a check failed, the figures are of no use\n");
    }
    return good ? 0 : 1;
}
