"""Numbers of SPIR-V: opcodes by name, and the names in `shading` of the extended instructions of GLSL."""

from __future__ import annotations


def _numbers(text: str) -> dict[str, int]:
    words = text.split()
    return {name: int(number) for number, name in zip(words[::2], words[1::2], strict=True)}


OPS = _numbers("""
    1 Undef 3 Source 5 Name 6 MemberName 7 String 8 Line 11 ExtInstImport 12 ExtInst 15 EntryPoint 16 ExecutionMode
    19 TypeVoid 20 TypeBool 21 TypeInt 22 TypeFloat 23 TypeVector 24 TypeMatrix 25 TypeImage 26 TypeSampler
    27 TypeSampledImage 28 TypeArray 29 TypeRuntimeArray 30 TypeStruct 32 TypePointer 33 TypeFunction 41 ConstantTrue
    42 ConstantFalse 43 Constant 44 ConstantComposite 46 ConstantNull 48 SpecConstantTrue 49 SpecConstantFalse
    50 SpecConstant 51 SpecConstantComposite 54 Function 55 FunctionParameter 56 FunctionEnd 57 FunctionCall 59 Variable
    61 Load 62 Store 63 CopyMemory 65 AccessChain 66 InBoundsAccessChain 71 Decorate 72 MemberDecorate
    77 VectorExtractDynamic 78 VectorInsertDynamic 79 VectorShuffle 80 CompositeConstruct 81 CompositeExtract
    82 CompositeInsert 83 CopyObject 84 Transpose 86 SampledImage 87 ImageSampleImplicitLod 88 ImageSampleExplicitLod
    91 ImageSampleProjImplicitLod 92 ImageSampleProjExplicitLod 100 Image 109 ConvertFToU 110 ConvertFToS
    111 ConvertSToF 112 ConvertUToF 113 UConvert 114 SConvert 115 FConvert 124 Bitcast 126 SNegate 127 FNegate 128 IAdd
    129 FAdd 130 ISub 131 FSub 132 IMul 133 FMul 134 UDiv 135 SDiv 136 FDiv 137 UMod 138 SRem 139 SMod 140 FRem 141 FMod
    142 VectorTimesScalar 143 MatrixTimesScalar 144 VectorTimesMatrix 145 MatrixTimesVector 146 MatrixTimesMatrix
    147 OuterProduct 148 Dot 154 Any 155 All 156 IsNan 157 IsInf 164 LogicalEqual 165 LogicalNotEqual 166 LogicalOr
    167 LogicalAnd 168 LogicalNot 169 Select 170 IEqual 171 INotEqual 172 UGreaterThan 173 SGreaterThan
    174 UGreaterThanEqual 175 SGreaterThanEqual 176 ULessThan 177 SLessThan 178 ULessThanEqual 179 SLessThanEqual
    180 FOrdEqual 181 FUnordEqual 182 FOrdNotEqual 183 FUnordNotEqual 184 FOrdLessThan 185 FUnordLessThan
    186 FOrdGreaterThan 187 FUnordGreaterThan 188 FOrdLessThanEqual 189 FUnordLessThanEqual 190 FOrdGreaterThanEqual
    191 FUnordGreaterThanEqual 194 ShiftRightLogical 195 ShiftRightArithmetic 196 ShiftLeftLogical 197 BitwiseOr
    198 BitwiseXor 199 BitwiseAnd 200 Not 207 DPdx 208 DPdy 209 Fwidth 210 DPdxFine 211 DPdyFine 212 FwidthFine
    213 DPdxCoarse 214 DPdyCoarse 215 FwidthCoarse 245 Phi 246 LoopMerge 247 SelectionMerge 248 Label 249 Branch
    250 BranchConditional 251 Switch 252 Kill 253 Return 254 ReturnValue 255 Unreachable 317 NoLine
    4416 TerminateInvocation 5380 DemoteToHelperInvocation 5632 DecorateString 5633 MemberDecorateString
""")
"""The supported opcodes, by name."""
NAMES = {number: name for name, number in OPS.items()}

COLUMN_ORDER, ROW_ORDER, BLOCK, BUFFER_BLOCK, BUILT_IN, FLAT, CENTROID, LOCATION, BINDING, USER_SEMANTIC = (
    5, 4, 2, 3, 11, 14, 16, 30, 33, 5635)  # fmt: skip
"""Decorations."""
UNIFORM_CONSTANT, INPUT, UNIFORM, OUTPUT, PRIVATE, FUNCTION, PUSH_CONSTANT = 0, 1, 2, 3, 6, 7, 9
"""Storage classes."""
BUILT_INS = {0: "POSITION", 1: "PSIZE", 3: "CLP0", 5: "INDEX", 6: "INSTANCE", 15: "WPOS", 16: "SPRITECOORD", 17: "FACE",
             22: "DEPTH", 42: "INDEX", 43: "INSTANCE"}  # fmt: skip
"""Built-in variables of the pipeline to their semantics."""
DIMENSIONS = {0: "1d", 1: "2d", 2: "3d", 3: "cube", 4: "rect"}

EXTENDED = {
    2: "round", 1: "round", 3: "trunc", 4: "abs", 5: "abs", 6: "sign", 7: "sign", 8: "floor", 9: "ceil", 10: "frac",
    11: "radians", 12: "degrees", 13: "sin", 14: "cos", 15: "tan", 16: "asin", 17: "acos", 18: "atan", 19: "sinh",
    20: "cosh", 21: "tanh", 22: "asinh", 23: "acosh", 24: "atanh", 25: "atan2", 26: "pow", 27: "exp", 28: "log",
    29: "exp2", 30: "log2", 31: "sqrt", 32: "rsqrt", 33: "determinant", 34: "inverse", 37: "min", 38: "min", 39: "min",
    40: "max", 41: "max", 42: "max", 43: "clamp", 44: "clamp", 45: "clamp", 46: "lerp", 48: "step", 49: "smoothstep",
    50: "fma", 54: "packsnorm8", 55: "packunorm8", 56: "packsnorm16", 57: "packunorm16", 58: "packhalf",
    60: "unpacksnorm16", 61: "unpackunorm16", 62: "unpackhalf", 63: "unpacksnorm8", 64: "unpackunorm8", 66: "length",
    67: "distance", 68: "cross", 69: "normalize", 70: "faceforward", 71: "reflect", 72: "refract", 79: "min", 80: "max",
    81: "clamp",
}  # fmt: skip
"""Numbers of the set GLSL.std.450 to expansions."""
INTEGERS = {5: "int", 7: "int", 38: "uint", 39: "int", 41: "uint", 42: "int", 44: "uint", 45: "int"}
"""Extended instructions that take integers, and of which kind."""
COUNTS = {**dict.fromkeys(("atan2", "pow", "min", "max", "step", "distance", "cross", "reflect"), 2),
          **dict.fromkeys(("clamp", "lerp", "smoothstep", "fma", "faceforward", "refract"), 3)}  # fmt: skip
"""Numbers of operands of expansions that do not have one."""
