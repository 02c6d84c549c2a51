/* SPDX-License-Identifier: MIT */
/* The format of ELF files of 64 bits, as far as cubins and programs are read: the names of the ELF specification, with
 * a prefix, because some systems have no <elf.h>, and others have it everywhere. */
#ifndef PDL_CODE_ELF_FORMAT_H
#define PDL_CODE_ELF_FORMAT_H

#include <stdint.h>

#define PDL_ELFMAG  "\177ELF"
#define PDL_SELFMAG 4

enum { /* in e_ident */
       PDL_EI_CLASS = 4,
       PDL_EI_DATA = 5,
       PDL_EI_VERSION = 6,
       PDL_EI_OSABI = 7,
       PDL_EI_ABIVERSION = 8,
       PDL_EI_NIDENT = 16
};
enum { PDL_ELFCLASS32 = 1, PDL_ELFCLASS64 = 2 };
enum { PDL_ELFDATA2LSB = 1, PDL_ELFDATA2MSB = 2 };
enum { PDL_EV_CURRENT = 1 };
enum { PDL_ET_REL = 1, PDL_ET_EXEC = 2, PDL_ET_DYN = 3 };
enum { PDL_EM_X86_64 = 62, PDL_EM_CUDA = 190 };
enum { PDL_SHN_UNDEF = 0, PDL_SHN_XINDEX = 0xffff };
enum { PDL_PT_LOAD = 1 };
enum {
    PDL_SHT_NULL = 0,
    PDL_SHT_PROGBITS = 1,
    PDL_SHT_SYMTAB = 2,
    PDL_SHT_STRTAB = 3,
    PDL_SHT_RELA = 4,
    PDL_SHT_NOTE = 7,
    PDL_SHT_NOBITS = 8,
    PDL_SHT_REL = 9,
    PDL_SHT_SYMTAB_SHNDX = 18,
    PDL_SHT_LOPROC = 0x70000000
};
enum { PDL_SHF_ALLOC = 2, PDL_SHF_EXECINSTR = 4 };
enum { PDL_STB_GLOBAL = 1 };
enum { PDL_STT_FUNC = 2 };

#define PDL_ELF64_ST_TYPE(info)       ((info)&0xf)
#define PDL_ELF64_ST_INFO(bind, type) (((bind) << 4) + ((type)&0xf))
#define PDL_ELF64_R_SYM(info)         ((info) >> 32)
#define PDL_ELF64_R_INFO(sym, type)   (((uint64_t)(sym) << 32) + (type))

struct pdl_elf64_ehdr {
    unsigned char e_ident[PDL_EI_NIDENT];
    uint16_t e_type;
    uint16_t e_machine;
    uint32_t e_version;
    uint64_t e_entry;
    uint64_t e_phoff;
    uint64_t e_shoff;
    uint32_t e_flags;
    uint16_t e_ehsize;
    uint16_t e_phentsize;
    uint16_t e_phnum;
    uint16_t e_shentsize;
    uint16_t e_shnum;
    uint16_t e_shstrndx;
};

struct pdl_elf64_shdr {
    uint32_t sh_name;
    uint32_t sh_type;
    uint64_t sh_flags;
    uint64_t sh_addr;
    uint64_t sh_offset;
    uint64_t sh_size;
    uint32_t sh_link;
    uint32_t sh_info;
    uint64_t sh_addralign;
    uint64_t sh_entsize;
};

struct pdl_elf64_phdr {
    uint32_t p_type;
    uint32_t p_flags;
    uint64_t p_offset;
    uint64_t p_vaddr;
    uint64_t p_paddr;
    uint64_t p_filesz;
    uint64_t p_memsz;
    uint64_t p_align;
};

struct pdl_elf64_sym {
    uint32_t st_name;
    unsigned char st_info;
    unsigned char st_other;
    uint16_t st_shndx;
    uint64_t st_value;
    uint64_t st_size;
};

struct pdl_elf64_rel {
    uint64_t r_offset;
    uint64_t r_info;
};

struct pdl_elf64_rela {
    uint64_t r_offset;
    uint64_t r_info;
    int64_t r_addend;
};

#endif /* PDL_CODE_ELF_FORMAT_H */
