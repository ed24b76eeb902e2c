"""Files to programs and back, without decoding an instruction.

`load_image` and `load_images` take any supported file and tell by its content what it is; every format has its own
reader and writer below. What a file contains comes as a `Module`. Everything wrong with a file is a
`FormatError` that names the file, the offset and the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isakit.lazy import lazy

if TYPE_CHECKING:
    from isakit.description import (
        PARAM_BASE,
        ConstantSegment,
        ExtraSection,
        GlobalVariable,
        InfoRecord,
        Kernel,
        Module,
        Param,
        Relocation,
        TextureSlot,
        bytes_of,
        merge_segments,
        words_of,
    )
    from isakit.formats.cubin_elf import read_elf_cubin
    from isakit.formats.cubin_elf_write import write_elf_cubin
    from isakit.formats.cubin_text import Pair, TextBlock, parse_tree, read_text_cubin, write_text_cubin, write_tree
    from isakit.formats.detect import load_image, load_images
    from isakit.formats.embedded import Found, c_arrays, find_embedded, find_in_source
    from isakit.formats.fatbin import FatEntry, parse_fatbin, parse_old_fatbin
    from isakit.formats.gxp import (
        AttributeDescriptor,
        FragmentVaryings,
        GxpContainer,
        GxpDependentSampler,
        GxpFile,
        GxpLiteral,
        GxpParameter,
        GxpUniformBuffer,
        VertexVaryings,
        parse_gxp,
        write_gxp,
    )
    from isakit.formats.gxp_build import GxpBuilder
    from isakit.formats.raw import parse_hex, read_hex, read_raw, replace_hex, write_hex, write_raw
    from isakit.formats.shader import Shader, read_gxp
    from isakit.formats.vuc_image import VucImage, pack_vuc, pack_words, parse_vuc, read_vuc, recognise_vuc, replaced
    from isakit.registry import ARCH_TO_VARIANT, VARIANT_TO_ARCH

__all__ = [
    "ARCH_TO_VARIANT",
    "PARAM_BASE",
    "VARIANT_TO_ARCH",
    "AttributeDescriptor",
    "ConstantSegment",
    "ExtraSection",
    "FatEntry",
    "Found",
    "FragmentVaryings",
    "GlobalVariable",
    "GxpBuilder",
    "GxpContainer",
    "GxpDependentSampler",
    "GxpFile",
    "GxpLiteral",
    "GxpParameter",
    "GxpUniformBuffer",
    "InfoRecord",
    "Kernel",
    "Module",
    "Pair",
    "Param",
    "Relocation",
    "Shader",
    "TextBlock",
    "TextureSlot",
    "VertexVaryings",
    "VucImage",
    "bytes_of",
    "c_arrays",
    "find_embedded",
    "find_in_source",
    "load_image",
    "load_images",
    "merge_segments",
    "pack_vuc",
    "pack_words",
    "parse_fatbin",
    "parse_gxp",
    "parse_hex",
    "parse_old_fatbin",
    "parse_tree",
    "parse_vuc",
    "read_elf_cubin",
    "read_gxp",
    "read_hex",
    "read_raw",
    "read_text_cubin",
    "read_vuc",
    "recognise_vuc",
    "replace_hex",
    "replaced",
    "words_of",
    "write_elf_cubin",
    "write_gxp",
    "write_hex",
    "write_raw",
    "write_text_cubin",
    "write_tree",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "isakit.description": """
            PARAM_BASE ConstantSegment ExtraSection GlobalVariable
            InfoRecord Kernel Module Param
            Relocation TextureSlot bytes_of merge_segments
            words_of
        """,
        "isakit.formats.cubin_elf": "read_elf_cubin",
        "isakit.formats.cubin_elf_write": "write_elf_cubin",
        "isakit.formats.cubin_text": "TextBlock Pair parse_tree read_text_cubin write_text_cubin write_tree",
        "isakit.formats.detect": "load_image load_images",
        "isakit.formats.embedded": "Found c_arrays find_embedded find_in_source",
        "isakit.formats.fatbin": "FatEntry parse_fatbin parse_old_fatbin",
        "isakit.formats.gxp": """
            AttributeDescriptor FragmentVaryings GxpContainer GxpDependentSampler
            GxpFile GxpLiteral GxpParameter GxpUniformBuffer
            VertexVaryings parse_gxp write_gxp
        """,
        "isakit.formats.gxp_build": "GxpBuilder",
        "isakit.formats.raw": "parse_hex read_hex read_raw replace_hex write_hex write_raw",
        "isakit.formats.shader": "Shader read_gxp",
        "isakit.formats.vuc_image": "VucImage pack_vuc pack_words parse_vuc read_vuc recognise_vuc replaced",
        "isakit.registry": "ARCH_TO_VARIANT VARIANT_TO_ARCH",
    },
)
