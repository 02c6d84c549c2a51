/* SPDX-License-Identifier: MIT */
/* Addresses: which parameter or variable an access goes through, and in which memory it is. */
#include "ptx_support.h"

#define WAIT "griddepcontrol.wait;\n"
/* A kernel with a struct of 32 bytes as its parameter s, and a pointer p1. */
#define STRUCT_KERNEL(body)                                                                        \
    PTX_HEADER ".visible .entry k(.param .align 8 .b8 s[32], .param .u64 p1)\n{\n" body            \
               "\ngriddepcontrol.wait;\nret;\n}\n"

#define READS(through) ": reads global memory" through " before the wait"

static const struct ptx_case cases1[] = {
    /* Addresses are traced to parameters. */
    {"as it is", PTX_KERNEL("ld.global.u32 r, [ga];\n" WAIT),
     "read-before-wait warning 3 a" READS(" through parameter 'a' (1st)")},
    {"with an offset", PTX_KERNEL("ld.global.u32 r, [gb+-8];\n" WAIT),
     "read-before-wait warning 3 b" READS(" through parameter 'b' (2nd)")},
    {"plus an index",
     PTX_KERNEL("mul.wide.u32 x, t, 4; add.s64 y, ga, x; ld.global.u32 r, [y];\n" WAIT),
     "read-before-wait warning 3 a" READS(" through parameter 'a' (1st)")},
    {"plus a shifted index",
     PTX_KERNEL("cvt.u64.u32 x, n; shl.b64 x, x, 2; add.s64 y, x, gb; ld.global.u32 r, "
                "[y];\n" WAIT),
     "read-before-wait warning 3 b" READS(" through parameter 'b' (2nd)")},
    {"with mad", PTX_KERNEL("mad.wide.u32 y, t, 4, gb; ld.global.u32 r, [y];\n" WAIT),
     "read-before-wait warning 3 b" READS(" through parameter 'b' (2nd)")},
    {"with mad.lo",
     PTX_KERNEL("cvt.u64.u32 x, t; mad.lo.s64 y, x, 4, ga; ld.global.u32 r, [y];\n" WAIT),
     "read-before-wait warning 3 a" READS(" through parameter 'a' (1st)")},
    {"with mad, of a number that was passed too",
     STRUCT_KERNEL("ld.param.u64 x, [p1]; ld.param.u64 m, [s]; mad.lo.s64 y, m, 4, x; "
                   "ld.u32 r, [y];"),
     "read-before-wait warning 4 p1" READS(" through parameter 'p1' (2nd)")},
    {"moved in a loop",
     PTX_KERNEL("mov.u64 y, ga;\nA:\nld.global.u32 r, [y]; add.s64 y, y, 4; "
                "setp.eq.u32 p, r, 0;\n@p bra A;\n" WAIT),
     "read-before-wait warning 5 a" READS(" through parameter 'a' (1st)")},
    {"to generic and back",
     PTX_KERNEL("cvta.global.u64 x, ga; cvta.to.global.u64 y, x; ld.global.u32 r, [y];\n" WAIT),
     "read-before-wait warning 3 a" READS(" through parameter 'a' (1st)")},
    {"one of two", PTX_KERNEL("selp.b64 y, ga, gb, p; ld.global.u32 r, [y];\n" WAIT),
     "read-before-wait warning 3" READS(" through parameter 'a' (1st) or another")},
    {"one of two on two paths",
     PTX_KERNEL("mov.u64 y, ga; setp.eq.u32 p, t, 0;\n@p mov.u64 y, gb;\n"
                "ld.global.u32 r, [y];\n" WAIT),
     "read-before-wait warning 5" READS(" through parameter 'a' (1st) or another")},
    {"through a pointer in memory", PTX_KERNEL("ld.global.u64 y, [ga];\nld.u32 r, [y];\n" WAIT),
     "read-before-wait warning 3 a" READS(
         " through parameter 'a' (1st)") "\n"
                                         "read-before-wait warning 4 a" READS(
                                             " through a pointer loaded through parameter 'a' "
                                             "(1st)")},
    {"that nothing is known of", PTX_KERNEL("ld.global.u32 r, [y];\n" WAIT),
     "read-before-wait warning 3" READS("")},
    {"that is a number", PTX_KERNEL("ld.global.u32 r, [4096];\n" WAIT),
     "read-before-wait warning 3" READS("")},
    /* Pointers in structs are told apart. */
    {"at a byte", STRUCT_KERNEL("ld.param.u64 x, [s+16]; ld.global.u32 r, [x];"),
     "read-before-wait warning 4 s" READS(
         " through the pointer at byte 16 of parameter 's' (1st)")},
    {"of a vector", STRUCT_KERNEL("ld.param.v2.u64 {x, y}, [s+8]; ld.global.u32 r, [y];"),
     "read-before-wait warning 4 s" READS(
         " through the pointer at byte 16 of parameter 's' (1st)")},
    {"through its address",
     STRUCT_KERNEL("mov.b64 x, s; ld.param.u64 y, [x+24]; ld.global.u32 r, [y];"),
     "read-before-wait warning 4 s" READS(
         " through the pointer at byte 24 of parameter 's' (1st)")},
    {"at a place that is computed",
     STRUCT_KERNEL("mov.b64 x, s; mov.u32 t, %tid.x; mul.wide.u32 i, t, 8; add.u64 z, x, i; "
                   "ld.param.u64 y, [z]; ld.global.u32 r, [y];"),
     "read-before-wait warning 4 s" READS(
         " through a pointer in the array at byte 0 of parameter 's' (1st)")},
    {"two of them are two findings",
     STRUCT_KERNEL("ld.param.u64 x, [s]; ld.global.u32 r, [x];\n"
                   "ld.param.u64 y, [s+8]; ld.global.u32 r, [y];"),
     "read-before-wait warning 4 s" READS(
         " through the pointer at byte 0 of parameter 's' "
         "(1st)") "\n"
                  "read-before-wait warning 5 s" READS(" through the pointer at byte 8 of "
                                                       "parameter 's' (1st)")},
    /* Variables are named. */
    {"as an address",
     PTX_HEADER ".global .align 4 .u32 v;\n.entry k()\n{\n"
                "ld.global.u32 r, [v+4];\n" WAIT "}\n",
     "read-before-wait warning 5" READS(" in or through the variable 'v'")},
    {"in a register",
     PTX_HEADER ".global .align 4 .u32 u, v;\n.entry k()\n{\nmov.u64 x, v; "
                "cvta.global.u64 x, x; ld.u32 r, [x];\n" WAIT "}\n",
     "read-before-wait warning 5" READS(" in or through the variable 'v'")},
    {"of an array with values",
     PTX_HEADER ".visible .global .align 8 .b8 v[16] = {1, 2, 3};\n.entry k()\n{\n"
                "ld.global.u32 r, [v];\n" WAIT "}\n",
     "read-before-wait warning 5" READS(" in or through the variable 'v'")},
    {"that others define",
     PTX_HEADER ".extern .global .b32 v[];\n.entry k()\n{\n"
                "ld.global.u32 r, [v];\n" WAIT "}\n",
     "read-before-wait warning 5" READS(" in or through the variable 'v'")},
    {"constant memory is written by the host",
     PTX_HEADER ".const .b32 v[4];\n.entry k()\n{\nmov.u64 x, v; cvta.const.u64 x, x; "
                "ld.u32 r, [x];\nld.const.u32 r, [v];\n" WAIT "}\n",
     ""},
    /* Generic addresses of other memory are no accesses. */
    {"shared memory",
     PTX_HEADER ".shared .align 4 .b8 s[64];\n" PTX_KERNEL_BEGIN
                "mov.u64 x, s; cvta.shared.u64 x, x; ld.u32 r, [x+4]; st.u32 [x], r; "
                "atom.add.u32 r, [x], 1;\n" WAIT PTX_KERNEL_END,
     ""},
    {"shared memory of the kernel's own, with an index",
     PTX_KERNEL(".shared .align 4 .b8 s[64]; mov.u32 x, s; cvt.u64.u32 y, x; "
                "cvta.shared.u64 y, y; mad.wide.u32 y, t, 4, y; ld.u32 r, [y];\n" WAIT),
     ""},
    {"local memory",
     PTX_KERNEL(".local .align 4 .b8 l[64]; mov.u64 x, l; cvta.local.u64 y, x; ld.u32 r, [y]; "
                "st.u32 [y+4], r;\n" WAIT),
     ""},
    {"a parameter of the kernel",
     STRUCT_KERNEL("mov.b64 x, s; cvta.param.u64 x, x; ld.u32 r, [x+8];"), ""},
    {"another block's shared memory",
     PTX_KERNEL(".shared .b32 s; mov.u64 x, s; cvta.shared.u64 x, x; mapa.u64 y, x, 1; "
                "ld.u32 r, [y];\n" WAIT),
     ""},
    {"shared memory or a parameter's",
     PTX_KERNEL(".shared .b32 s; mov.u64 x, s; cvta.shared.u64 z, x; ld.param.u64 y, [a]; "
                "selp.b64 w, z, y, p; ld.u32 r, [w];\n" WAIT),
     "read-before-wait warning 3 a" READS(" through parameter 'a' (1st)")},
    {"a pointer kept in local memory may be any",
     PTX_KERNEL(".local .b64 l; st.local.u64 [l], ga; ld.local.u64 x, [l]; ld.u32 r, "
                "[x];\n" WAIT),
     "read-before-wait warning 3" READS("")},
    /* Names of parameters are those of the text. */
    {"a compiler's are none",
     PTX_HEADER ".entry k(.param .u64 k_param_0, .param .u64 k_param_1)\n{\n"
                "ld.param.u64 x, [k_param_1]; ld.global.u32 r, [x];\n" WAIT "}\n",
     "read-before-wait warning 4 #2" READS(" through the 2nd parameter")},
    {"the eleventh",
     PTX_HEADER ".entry k(.param .u32 k0, .param .u32 k1, .param .u32 k2, .param .u32 k3, "
                ".param .u32 k4, .param .u32 k5, .param .u32 k6, .param .u32 k7, .param .u32 "
                "k8, .param .u32 k9, .param .u64 k10)\n{\n"
                "ld.param.u64 x, [k10]; ld.global.u32 r, [x];\n" WAIT "}\n",
     "read-before-wait warning 4 #11" READS(" through the 11th parameter")},
};
PTX_TESTS(cases1, SHOW_MESSAGES)
