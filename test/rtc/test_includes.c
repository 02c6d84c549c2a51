/* SPDX-License-Identifier: MIT */
/* What a text may include, compared with what was written down for each case. test_includes_random.c compares it with what
 * NVRTC reads. */
#include "forms.h"
#include "rtc/request/includes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char *folder;
static struct pdl_rtc_dependencies found;

static int setup(void **state)
{
    (void)state;
    folder = rtc_folder_make();
    return chdir(folder) == 0 && mkdir("a", 0700) == 0 && mkdir("b", 0700) == 0 &&
                   mkdir("p", 0700) == 0 && mkdir("a/s", 0700) == 0
               ? 0
               : -1;
}

static int teardown(void **state)
{
    (void)state;
    pdl_rtc_includes_free(&found);
    const int left = chdir("/");
    rtc_folder_remove(folder);
    return left;
}

static struct pdl_rtc_request request_of(const char *source)
{
    static const char *directories[] = {"a", "b"};
    return (struct pdl_rtc_request){
        .program = "k.cu",
        .source = source,
        .source_size = strlen(source),
        .arguments = {.directories = directories, .directory_count = 2}};
}

/* The paths, each with + or - before it for one that is there or not, in one line. */
static const char *find(const struct pdl_rtc_request *request)
{
    static char line[4096];
    line[0] = '\0';
    pdl_rtc_includes_free(&found);
    assert_ok(pdl_rtc_includes_find(request, &found));
    for (size_t i = 0; i < found.count; i++) {
        const size_t length = strlen(line);
        (void)snprintf(line + length, sizeof(line) - length, "%s%c%s", i > 0 ? " " : "",
                       found.items[i].present ? '+' : '-', found.items[i].path);
    }
    return line;
}

static const char *find_in(const char *source)
{
    const struct pdl_rtc_request request = request_of(source);
    return find(&request);
}

/* ---- what is found ------------------------------------------------------------------------------- */

/* A text, and what is looked for: see find(). "?": it is unknown. */
struct example {
    const char *text, *wanted;
    const char *program, *argument, *name; /* NULL: k.cu, none, none */
    const char *files[4][2];               /* each a path and what is in it */
    pdl_rtc_header headers[3];
};

#define NOT_THERE "-a/x.h -b/x.h"

/* Where files are looked for. */
static const struct example places[] = {
    {.text = "__global__ void k() {}", .wanted = ""},
    {"#include <x.h>", "-a/x.h +b/x.h", .files = {{"x.h", ""}, {"b/x.h", ""}}},
    {"#include <x.h>", "+a/x.h", .files = {{"a/x.h", ""}, {"b/x.h", ""}}},
    {"#include \"x.h\"", "+x.h +a/x.h", .files = {{"x.h", ""}, {"p/x.h", ""}, {"a/x.h", ""}}},
    {"#include \"x.h\"", "+p/x.h +a/x.h", "p/k.cu", .files = {{"p/x.h", ""}, {"a/x.h", ""}}},
    {"#include <s/one.h>", "+a/s/one.h +a/s/two.h -a/two.h -b/two.h -a/three.h +b/three.h",
     .files = {{"a/s/one.h", "#include \"two.h\"\n"},
               {"a/s/two.h", "#include <three.h>\n"},
               {"b/three.h", ""}}},
    {"#include_next <x.h>", "+a/x.h +b/x.h", .files = {{"a/x.h", ""}, {"b/x.h", ""}}},
    {"#if __has_include_next(<x.h>)\n#endif", "+a/x.h -b/x.h", .files = {{"a/x.h", ""}}},
    {"#include <x>", "-a/x -a/x.stdh -b/x +b/x.stdh", .files = {{"b/x.stdh", ""}}},
    {.text = "#include <s.d/x>", .wanted = "-a/s.d/x -a/s.d/x.stdh -b/s.d/x -b/s.d/x.stdh"},
    {.text = "#if __has_include(<x.h>)\n#endif", .wanted = NOT_THERE},
    {.text = "#if defined(__has_include) && __has_include ( \"x.h\" )\n#endif",
     .wanted = "-x.h -a/x.h -b/x.h"},
    {.text = "#ifdef __has_include\n#endif\nint include(int);", .wanted = ""},
    {"#include <use.h>\n#include <has.h>\n", "+a/use.h +a/has.h " NOT_THERE,
     .files = {{"a/has.h", "#define X_HAS_INCLUDE(X) __has_include(X)\n"
                           "#define has_include2(X) X_HAS_INCLUDE(X)\n"},
               {"a/use.h", "#if has_include2(<x.h>)\n#endif\n"}}},
    /* Headers in memory come before files, and by their very names. */
    {"#include <x.h>\n#include \"x.h\"\n", "-a/y.h -b/y.h", .files = {{"a/x.h", ""}},
     .headers = {{"x.h", "#include <y.h>\n"}, {"not_included.h", "#include <w.h>\n"}}},
    {"#include \"q/z.h\"", "-q/y.h -a/y.h -b/y.h", .headers = {{"q/z.h", "#include \"y.h\"\n"}}},
    {"#include \"./x.h\"", "-./x.h +a/./x.h", .files = {{"a/x.h", ""}}, .headers = {{"x.h", ""}}},
    {.text = "#include <pdl/device.cuh>\n#include <pdl/vector.cuh>\n", .wanted = ""},
    /* Name expressions and options are read as the text. */
    {"template <int i> __global__ void k() {}", NOT_THERE, .name = "k<__has_include(<x.h>)>"},
    {"template <int i> __global__ void k() {}", "?", .name = "k<__has_include(NAME)>"},
    {"#if HAS_INCLUDE(<x.h>)\n#endif", NOT_THERE, .argument = "-DHAS_INCLUDE(x)=__has_include(x)"},
    {"#if H(NAME)\n#endif", "?", .argument = "-DH=__has_include"},
    {"#if C(__has_, include)(<x.h>)\n#endif", "?", .argument = "-DC(a, b)=a##b"},
    {"#define C(a, b) a##b\n#define D(a, b) C(a, b)\n#if D(A, include)(<x.h>)\n#endif", "?",
     .argument = "-DA=__has_"},
    /* Words of several texts are pasted too; the name to compare with is found last. */
    {"#include \"m.h\"\nint i = D(X_HAS_, A)(NAME);", "?",
     .files = {{"m.h", "#define C(a, b) a##b\n#define D(a, b) C(a, b)\n#define A INCLUDE\n"
                       "#define X_HAS_INCLUDE(x) __has_include(x)\n"}}},
    /* What stands before the name is code or not as the standard says. */
    {"#define S R\"/*(\"\n#include NAME\n//)/*\" */", "?", .argument = "--std=c++03"},
    {"#define S 1'0 /*'*/\n#include NAME\n//*/", "?", .argument = "--std=c++11"},
    {"#define S 1'0 /*'*/\n#include NAME\n//*/", "?", .argument = "--std=c++14"},
};

/* Texts that look for x.h in angle brackets. */
static const char *const found_texts[] = {
    "#include<x.h>",
    " \t# \tinclude\t<x.h>",
    "# /* one */ include /* two\n lines */ <x.h>",
    "#include <x\\\n.h>",
    "%:include <x.h>",
    "#import <x.h>",
    "#embed <x.h>",
    "/* */ #include <x.h>",
    "char c = '\"';\n#include <x.h>\nchar d = '\"';",
    "int i = 1'000'000;\n#include <x.h>\nint j = 1'0;",
    "auto s = R\"x(\"/*)x\";\n#include <x.h>\n//*/",
    "// a comment that \\\n#include <x.h>",
    "#define C(a, b) a##b\n#define S(x) #x\nint __has_, inc;\n#include <x.h>",
    "#ifdef __has_include_next\n#error no __has_include here\n#endif\n#include <x.h>",
    "#define J(a, b) a##b\nint J(i, n), __has_; // J(__has_, include)\n#include <x.h>",
    ("#define J(a, b) a##b\n#define S(x) #x\nconst char *s = S(J(__has_, nothing)) "
     "\"include\";\n"
     "int include = 1'000;\n#include <x.h>"),
};

/* Texts that are known, whatever they look for: they only look computed. */
static const char *const known_texts[] = {
    "// #include NAME",
    "/*\n#include NAME\n*/",
    "const char *s = \"#include NAME\";",
    "const char *s = R\"(\n#include NAME\n)\";",
    "#define STRING(include) #include\nconst char *s = STRING(x);",
    "int a; a = a #include NAME",
    "#include\n",
    "// __has_include(NAME)",
    "#include_something NAME",
};

/* Names that a macro computes, and what may be computed or not. More are in forms.h. */
static const char *const unknown_texts[] = {
    "#define A(x) <x>\n # include A(x.h)",
    "#inc\\\nlude NAME",
    "int i = 1'000;\n#include NAME",
    "char c = '\"';\n#include NAME",
    "// don't\n#include NAME",
    "#if 0\nit isn't\n#endif\n#include NAME",
    "#define APPLY(f, x) f(x)\n#if APPLY(__has_include, <x.h>)\n#endif",
    "#define y x\n#define H(a) __has_include(a)\n#if HAS_INCLUDE(<y.h>)\n#endif",
    "#define HAS_INCLUDE(a) __has_include(a)\n#if HAS_INCLUDE(<x/**/.h>)\n#endif",
    ("#define HAS_INCLUDE(a) __has_include(a)\n#if "
     "HAS_INCLUDE(<__CUDACC_VER_MAJOR__/x.h>)\n#endif"),
    "#if __has_include(\n<x.h>)\n#endif",
    "#define D defined __has_include (NAME)",
    /* Some of the words stand in code, however many there are. */
    ("#define J(a, b) _##_h##a##s_i##b\ntemplate <int i> struct s {};\ns<J(a, nclude)(<x.h>)> "
     "t;"),
    ("#define J(a, b) a##b\n#define K(a, b) J(J(_, _h), J(a, b))\n#define L include\n"
     "void __launch_bounds__(K(as_, L)(<x.h>)) k();"),
    "#define J(a) _##a\nvoid k() {\n#pragma unroll J(_has_include)(NAME)\nfor (;;) {}\n}",
    "#define J(a, b) a##b\n#define O J(\nint i = O __has_, include)(<x.h>);",
    "#define J(a, b) a##b\n#define O (\nint i = J O __has_, include)(<x.h>);",
    "#define J(a, b) a##b\nint i = J(\n#define X\n__has_, include)(<x.h>);",
    "#define J(a, b) a##b\n#define K() J\nint i = K()(__has_, include)(<x.h>);",
    "#define J(a, b) a##b\nint i = J(R\"()\", x) + J(__has_, include)(<x.h>);",
    /* Some are numbers that the compiler knows. */
    ("#define has_include9(x) __has_include(x)\n#define J(a, b) a##b\n#define K(a, b) J(a, b)\n"
     "int i =\n\n\n\n\nK(has_include, __LINE__)(<x.h>);"),
    /* `defined` may become the name of a macro. */
    "#define J(a) x##a\n#define xdefined 0 +\n#if J(defined __has_include)(<x.h>)\n#endif",
    ("#define X_HAS_INCLUDE(X) __has_include(X)\n#define NAME <x.h>\n#if "
     "X_HAS_INCLUDE(NAME)\n#endif\n"),
    /* Only the right reading of what stands before them has these in code. */
    "#if 0\n5's /*\n#endif\n#include NAME\n/**/",
    "#define S R\"ab\"\n#include NAME\n//(",
    "#include <x/*y.h>\n#include NAME\n/**/",
    "#if 0\n#include <don't/*y.h>\n#endif\n#include NAME\n/**/",
    "/* *\\\n/\n#include NAME\n/**/",
};

static void check_example(const struct example *example)
{
    char *arguments[] = {(char *)example->argument};
    struct pdl_rtc_request request = request_of(example->text);
    for (size_t i = 0; i < COUNT_OF(example->files) && example->files[i][0] != NULL; i++) {
        rtc_file_write(example->files[i][0], example->files[i][1]);
    }
    request.program = example->program != NULL ? example->program : request.program;
    request.arguments.items = arguments;
    request.arguments.count = example->argument != NULL;
    request.names = (const char **)&example->name;
    request.name_count = example->name != NULL;
    request.headers = example->headers;
    while (example->headers[request.header_count].name != NULL) {
        request.header_count++;
    }
    const char *line = find(&request);
    const bool unknown = strcmp(example->wanted, "?") == 0;
    if ((found.unknown != NULL) != unknown ||
        (!unknown && strcmp(example->wanted, "*") != 0 && strcmp(example->wanted, line) != 0)) {
        fail_msg("%s\n%s: %s", example->text, line,
                 found.unknown != NULL ? found.unknown : "it is known");
    }
}

static void files_are_looked_for_where_nvrtc_does(void **state)
{
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        check_example(&places[i]);
        assert_int_equal(teardown(state), 0); /* in a folder of its own each */
        assert_int_equal(setup(state), 0);
    }
}

static void check_texts(const char *const *texts, size_t count, const char *wanted)
{
    for (size_t i = 0; i < count; i++) {
        check_example(&(struct example){.text = texts[i], .wanted = wanted});
    }
}

static void directives_are_found_however_they_are_written(void **state)
{
    (void)state;
    check_texts(found_texts, COUNT_OF(found_texts), NOT_THERE);
    check_texts(known_texts, COUNT_OF(known_texts), "*");
    check_texts(unknown_texts, COUNT_OF(unknown_texts), "?");
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        static struct text text;
        empty(&text);
        add_form(&text, &forms[i], "x.h", false, 7);
        check_example(&(struct example){.text = text.bytes,
                                        .wanted = forms[i].verdict == UNKNOWN ? "?" : "*"});
    }
}

static void files_that_include_each_other_end(void **state)
{
    (void)state;
    rtc_file_write("a/x.h", "#include \"../a/y.h\"\n");
    rtc_file_write("a/y.h", "#include \"../a/x.h\"\n#include \"../b/../a/x.h\"\n");
    (void)find_in("#include <x.h>");
    assert_true(found.count < 40);
    assert_null(found.unknown);
}

/* For #pragma once. */
static void names_of_one_file_are_known(void **state)
{
    (void)state;
    const pdl_rtc_header header = {"b/x.h", ""};
    struct pdl_rtc_request request = request_of("#include <x.h>\n#include <y.h>\n#include <z.h>\n");
    rtc_file_write("a/x.h", "#pragma once\n");
    rtc_file_write("a/z.h", "#pragma once\n");
    assert_int_equal(symlink("x.h", "a/y.h"), 0);
    assert_string_equal(find(&request), "+a/x.h +a/y.h +a/z.h");
    assert_int_equal(found.items[0].twin, 0);
    assert_int_equal(found.items[1].twin, 1);
    assert_int_equal(found.items[2].twin, 0);
    request = request_of("#include <b/x.h>\n#include \"b/y.h\"\n");
    request.headers = &header;
    request.header_count = 1;
    rtc_file_write("b/x.h", "#pragma once\n");
    assert_int_equal(link("b/x.h", "b/y.h"), 0);
    (void)find(&request);
    assert_int_not_equal(found.items[0].twin, 0);
}

static void a_file_with_a_nul_is_unknown(void **state)
{
    (void)state;
    FILE *file = fopen("a/x.h", "w");
    assert_non_null(file);
    assert_int_equal(fwrite("//\0\n", 1, 4, file), 4);
    assert_int_equal(fclose(file), 0);
    (void)find_in("#include <x.h>");
    assert_non_null(found.unknown);
}

/* ---- how long it takes --------------------------------------------------------------------------- */

/* So often that a time which grows as its square would be a minute and more. */
#if defined(__SANITIZE_THREAD__) /* whose memmem() looks at all of the rest */
enum { MANY = 2000 };
#else
enum { MANY = 50000 };
#endif

/* The line many times, with a number for each $. */
static char *repeat(const char *line)
{
    const size_t each = strlen(line) + 24;
    char *text = malloc(each * MANY);
    size_t size = 0;
    assert_non_null(text);
    for (int i = 0; i < MANY; i++) {
        for (const char *at = line; *at != '\0'; at++) {
            if (*at == '$') {
                size += (size_t)snprintf(text + size, 8, "%d", i);
            } else {
                text[size++] = *at;
            }
        }
    }
    text[size] = '\0';
    return text;
}

static void long_texts_are_read_once(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool unknown;
    } cases[] = {
        {"#if __has_include(<x$.h>)\n#endif\n", false},
        {"// __has_include(NAME$)\n", false},
        {"// #include NAME$\n", false},
        {"/* #include NAME$ */ int i;", false},
        {"int i = 1'000'$'0; // #include NAME\n", false},
        {"#define HAS_INCLUDE$(x) __has_include(x)\n#if HAS_INCLUDE$(<x$.h>)\n#endif\n", true},
        {"auto s = R\"$(\n", false},
        {"#include <x #$ /* /* ", true},
        {"#define J$(a, b) a##b /* */\n", false},
        {"f(1'0, 2'0$, ", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct timespec from;
        struct timespec to;
        char *text = repeat(cases[i].line);
        struct pdl_rtc_request request = request_of(text);
        request.arguments.directory_count = 1;
        pdl_rtc_includes_free(&found);
        assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from), 0);
        assert_ok(pdl_rtc_includes_find(&request, &found));
        assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to), 0);
        free(text);
        if ((found.unknown != NULL) != cases[i].unknown || to.tv_sec - from.tv_sec > 10) {
            fail_msg("%s: %ld s, %s", cases[i].line, (long)(to.tv_sec - from.tv_sec),
                     found.unknown != NULL ? "unknown" : "known");
        }
    }
}

static void pre_includes_are_looked_for(void **state)
{
    (void)state;
    const char *pre[] = {"x.h"};
    struct pdl_rtc_request request = request_of("int i;");
    request.program = "p/k.cu";
    request.arguments.pre_includes = pre;
    request.arguments.pre_include_count = 1;
    rtc_file_write("x.h", "#include <y.h>");
    assert_string_equal(find(&request), "+x.h -a/x.h -b/x.h -p/x.h -a/y.h -b/y.h");
}

static void what_is_no_file_is_none(void **state)
{
    (void)state;
    assert_int_equal(mkdir("a/x.h", 0700), 0);
    assert_int_equal(mkfifo("b/x.h", 0700), 0);
    assert_string_equal(find_in("#include <x.h>"), "-a/x.h -b/x.h");
}

/* ---- changes ------------------------------------------------------------------------------------- */

static void set_time(const char *path, time_t seconds)
{
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* As if the files had been found long after they were changed. */
static void age_found(void)
{
    found.fresh = false;
    for (size_t i = 0; i < found.count; i++) {
        found.items[i].fresh = false;
    }
}

static bool finds_changed(void (*change)(void))
{
    (void)find_in("#include <x.h>");
    age_found();
    change();
    return !pdl_rtc_includes_unchanged(&found);
}

static void change_nothing(void)
{
}

/* touch -r: st_ctim tells. */
static void change_later(void)
{
    const struct timespec tick = {.tv_nsec = 20000000};
    (void)nanosleep(&tick, NULL);
    rtc_file_write("b/x.h", "two");
    set_time("b/x.h", 1000000000);
}

static void replace(void)
{
    rtc_file_write("b/y.h", "two");
    assert_int_equal(rename("b/y.h", "b/x.h"), 0);
}

static void appear(void)
{
    rtc_file_write("a/x.h", "one");
}

static void go(void)
{
    assert_int_equal(unlink("a/x.h"), 0);
}

static void changes_of_files_show(void **state)
{
    (void)state;
    rtc_file_write("b/x.h", "one");
    set_time("b/x.h", 1000000000);
    assert_false(finds_changed(change_nothing));
    assert_true(finds_changed(change_later));
    assert_true(finds_changed(replace));
    assert_true(finds_changed(appear));
    assert_true(finds_changed(go));
    assert_false(finds_changed(change_nothing));
}

/* In the very tick of the clock of files, as far as stat() can tell. */
static void another_content_of_the_same_size_and_time_is_a_change(void **state)
{
    (void)state;
    struct stat about;
    rtc_file_write("a/x.h", "one");
    set_time("a/x.h", 1000000000); /* which says nothing of st_ctim */
    (void)find_in("#include <x.h>");
    assert_true(found.fresh && found.items[0].fresh);
    assert_true(pdl_rtc_includes_unchanged(&found));
    const struct pdl_rtc_hash content = found.items[0].content;
    rtc_file_write("a/x.h", "two");
    set_time("a/x.h", 1000000000);
    assert_int_equal(stat("a/x.h", &about), 0);
    found.items[0].changed_ns = (int64_t)about.st_ctim.tv_sec * 1000000000 + about.st_ctim.tv_nsec;
    assert_false(pdl_rtc_includes_unchanged(&found));
    (void)find_in("#include <x.h>");
    assert_false(pdl_rtc_hash_equal(content, found.items[0].content));
}

#define FILE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(files_are_looked_for_where_nvrtc_does),
        FILE_TEST(directives_are_found_however_they_are_written),
        FILE_TEST(files_that_include_each_other_end),
        FILE_TEST(names_of_one_file_are_known),
        FILE_TEST(a_file_with_a_nul_is_unknown),
        FILE_TEST(long_texts_are_read_once),
        FILE_TEST(pre_includes_are_looked_for),
        FILE_TEST(what_is_no_file_is_none),
        FILE_TEST(changes_of_files_show),
        FILE_TEST(another_content_of_the_same_size_and_time_is_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
