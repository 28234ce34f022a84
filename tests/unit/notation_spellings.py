"""Spellings found in texts, with the canonical text each must become.

Sources: "How to Scale Your Model" (jax-ml/scaling-book), files sharding.md, training.md,
transformers.md and roofline.md; the rest are the same statements as people type them.
"""

SHARDING = [
    (
        r"$$\begin{equation*} \mathbf{A}[I_X, J] \cdot \mathbf{B}[J, K_Y] \rightarrow "
        r"\mathbf{C}[I_X, K_Y] \end{equation*}$$",
        "A[I_X, J] · B[J, K_Y] -> C[I_X, K_Y]",
    ),
    (
        r"\mathbf{A}[I, J] \cdot \mathbf{B}[J, K] \rightarrow &\ \mathbf{C}[I, K] \\",
        "A[I, J] · B[J, K] -> C[I, K]",
    ),
    (
        r"\mathbf{A}[I_X, J] \cdot \mathbf{B}[J, K] \rightarrow &\ \mathbf{C}[I_X, K]\\",
        "A[I_X, J] · B[J, K] -> C[I_X, K]",
    ),
    (
        r"$$\mathbf{A}[I, J_X] \cdot \mathbf{B}[J, K] \rightarrow \mathbf{C}[I, K]$$",
        "A[I, J_X] · B[J, K] -> C[I, K]",
    ),
    (
        r"\[\mathbf{A}[I, J_X] \cdot \mathbf{B}[J, K] \rightarrow \mathbf{C}[I, K]\]",
        "A[I, J_X] · B[J, K] -> C[I, K]",
    ),
    (
        r"$$\textbf{AllGather}_X[I, J_X] \rightarrow \mathbf{A}[I, J]$$",
        "AllGather_X [I, J_X] -> A[I, J]",
    ),
    (
        r"$$\textbf{AllGather}_{XY}(A[I_{XY}, J]) \rightarrow A[I, J]$$",
        "AllGather_XY A[I_XY, J] -> A[I, J]",
    ),
    ("AllGather<sub>XY</sub>([B, D<sub>XY</sub>])", "AllGather_XY [B, D_XY] -> [B, D]"),
    ("AllGather<sub>Y</sub>([E<sub>Y</sub>, F]) → [E, F]", "AllGather_Y [E_Y, F] -> [E, F]"),
    (
        r"$$\textbf{A}[I, J_X] \cdot \textbf{B}[J_X, K] \rightarrow C[I, K]$$",
        "A[I, J_X] · B[J_X, K] -> C[I, K]",
    ),
    (
        r"$$\textbf{A}[I, J_X] \cdot_\text{LOCAL} \textbf{B}[J_X, K] \rightarrow "
        r"C[I, K] \{\ U_X \}$$",
        "A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]{U_X}",
    ),
    (
        r"A[I, J_X] \cdot_\text{LOCAL} B[J_X, K] \rightarrow &\ C[I, K] \{ U_X \} \\",
        "A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]{U_X}",
    ),
    (
        r"A[I, J_X] \cdot_{LOCAL} B[J_X, K] \rightarrow &\ C[I, K] \{ U_X \} \\",
        "A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]{U_X}",
    ),
    (
        r"$`A[I, J_X] \cdot_{\text{LOCAL}} B[J_X, K] \to C[I, K]\{U_X\}`$",
        "A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]{U_X}",
    ),
    (
        r"\textbf{AllReduce}_X C[I, K] \{ U_X \} \rightarrow &\ C[I, K]",
        "AllReduce_X C[I, K]{U_X} -> C[I, K]",
    ),
    (
        r"$$\textbf{AllReduce}_Y A[I_X, J] \{U_Y\} \rightarrow A[I_X, J]$$",
        "AllReduce_Y A[I_X, J]{U_Y} -> A[I_X, J]",
    ),
    (
        r"\textbf{ReduceScatter}_{Y,J} : A[I_X,J] \{U_Y\} \rightarrow &\ A[I_X, J_Y] \\",
        "ReduceScatter_{Y,J} A[I_X, J]{U_Y} -> A[I_X, J_Y]",
    ),
    (
        r"\textbf{AllGather}_Y : A[I_X, J_Y] \rightarrow &\ A[I_X, J]",
        "AllGather_Y A[I_X, J_Y] -> A[I_X, J]",
    ),
    (
        r"\textbf{AllGather}_X B[J, K_X] \rightarrow &\ B[J, K] \\",
        "AllGather_X B[J, K_X] -> B[J, K]",
    ),
    (
        r"$$\textbf{AllToAll}_{X, J} A[I_X, J] \rightarrow A[I, J_X]$$",
        "AllToAll_{X,J} A[I_X, J] -> A[I, J_X]",
    ),
    (r"$$\textbf{AllGather}_X A[I_X] \rightarrow A[I]$$", "AllGather_X A[I_X] -> A[I]"),
    (
        r"$$\textbf{ReduceScatter}_X A'[I] \{ U_X \} \rightarrow A'[I_X]$$",
        "ReduceScatter_{X,I} A'[I]{U_X} -> A'[I_X]",
    ),
    (
        r"$$\text{ReduceScatter}_X(A[I] \{U_X\}) \to A[I_X]$$",
        "ReduceScatter_{X,I} A[I]{U_X} -> A[I_X]",
    ),
    (r"$$\text{AllGather}_{X}(A'[I_X]) \to A'[I]$$", "AllGather_X A'[I_X] -> A'[I]"),
    (
        r"\textbf{ReduceScatter}_{X,K} C[I, K] \{ U_X \} \rightarrow &\ C[I, K_X]",
        "ReduceScatter_{X,K} C[I, K]{U_X} -> C[I, K_X]",
    ),
    (r"$\text{AllGather}_X([B_X, D_Y])$", "AllGather_X [B_X, D_Y] -> [B, D_Y]"),
    (r"$$\text{AllGather}_{XY}([B_X, D_Y])$$", "AllGather_XY [B_X, D_Y] -> [B, D]"),
    (r"$\text{AllGather}_X([B_X])$", "AllGather_X [B_X] -> [B]"),
    (r"$A[B, D] \cdot_D B[D_X, F] \to C[B, F]$", "A[B, D] · B[D_X, F] -> C[B, F]"),
    (
        r"$\text{AllReduce}_X(C[B, F] \\{ U_X\\})$",
        "AllReduce_X C[B, F]{U_X} -> C[B, F]",
    ),
    (r"$A[I_X, J_Y] \cdot_J B[J_Y, K] \to C[I_X, K]$", "A[I_X, J_Y] · B[J_Y, K] -> C[I_X, K]"),
    (r"$A[I, J_X] *_J B[J, K] \to C[I, K]$", "A[I, J_X] · B[J, K] -> C[I, K]"),
    (
        r"$C[I, K] \\{ U_X \\} = A[I, J_X] \cdot B[J_X, K]$",
        "A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}",
    ),
    (
        r"$C[I, K] = \text{AllReduce}(C[I, K] \\{ U_X\\})$",
        "AllReduce_X C[I, K]{U_X} -> C[I, K]",
    ),
]

TRAINING = [
    (
        r"$$\text{In}[B_X, D] *_D W_{in}[D, F] *_F W_{out}[F, D] \rightarrow \text{Out}[B_X, D]$$",
        "In[B_X, D] ·_D W_in[D, F] · W_out[F, D] -> Out[B_X, D]",
    ),
    (
        r"\text{In}[B_X, D_Y] \cdot_D W_{in}[D_X, F_Y] \cdot_F W_{out}[F_Y, D_X] "
        r"\rightarrow \text{Out}[B_X, D_Y] \\",
        "In[B_X, D_Y] ·_D W_in[D_X, F_Y] · W_out[F_Y, D_X] -> Out[B_X, D_Y]",
    ),
    (
        r"**In\[B, D<sub>Y</sub>\] \*<sub>D</sub> W<sub>in</sub>\[D, F<sub>Y</sub>\] "
        r"\*<sub>F</sub> W<sub>out</sub>\[F<sub>Y</sub>, D\] \-\> Out\[B, D<sub>Y</sub>\]**",
        "In[B, D_Y] ·_D W_in[D, F_Y] · W_out[F_Y, D] -> Out[B, D_Y]",
    ),
    (
        r"Tmp[B<sub>X</sub>, F] = In[B<sub>X</sub>, D] \*<sub>D</sub> W<sub>in</sub>[D, F]",
        "In[B_X, D] · W_in[D, F] -> Tmp[B_X, F]",
    ),
    (
        r"dW<sub>out</sub>[F, D] {U<sub>X</sub>} = Tmp[B<sub>X</sub>, F] \*<sub>B</sub> "
        r"dOut[B<sub>X</sub>, D]",
        "Tmp[B_X, F] · dOut[B_X, D] -> dW_out[F, D]{U_X}",
    ),
    (
        "dW<sub>out</sub>[F, D] = **AllReduce**(dW<sub>out</sub>[F, D] {U<sub>X</sub>})",
        "AllReduce_X dW_out[F, D]{U_X} -> dW_out[F, D]",
    ),
    (
        "W<sub>in</sub>[D, F] = **AllGather**(W<sub>in</sub>[D<sub>X</sub>, F])",
        "AllGather_X W_in[D_X, F] -> W_in[D, F]",
    ),
    (
        "dW<sub>out</sub>[F, D<sub>X</sub>] = **ReduceScatter**(dW<sub>out</sub>[F, D] "
        "{U<sub>X</sub>})",
        "ReduceScatter_{X,D} dW_out[F, D]{U_X} -> dW_out[F, D_X]",
    ),
    (
        r"<b>A</b>[B, D<sub>Y</sub>] * <b>B</b>[D, F<sub>Y</sub>] -> <b>C</b>[B, F<sub>Y</sub>]",
        "A[B, D_Y] · B[D, F_Y] -> C[B, F_Y]",
    ),
    (
        r"**Tmp[B, F<sub>Y</sub>] \* W<sub>out</sub>[F<sub>Y</sub>, D] -> Out[B, D<sub>Y</sub>]**",
        "Tmp[B, F_Y] · W_out[F_Y, D] -> Out[B, D_Y]",
    ),
    (
        "In[B<sub>X</sub>, D] = **AllGather**<sub>Y</sub>(In[B<sub>X</sub>, D<sub>Y</sub>])",
        "AllGather_Y In[B_X, D_Y] -> In[B_X, D]",
    ),
    (
        r"Out[B<sub>X</sub>, D] {U.Y} = Tmp[B<sub>X</sub>, F<sub>Y</sub>] \*<sub>F</sub> "
        r"W<sub>out</sub>[F<sub>Y</sub>, D]",
        "Tmp[B_X, F_Y] · W_out[F_Y, D] -> Out[B_X, D]{U_Y}",
    ),
    (
        "Out[B<sub>X</sub>, D<sub>Y</sub>] = **ReduceScatter**<sub>Y</sub>"
        "(Out[B<sub>X</sub>, D] {U.Y})",
        "ReduceScatter_{Y,D} Out[B_X, D]{U_Y} -> Out[B_X, D_Y]",
    ),
    (r"$$\mathbf{AllGather}_X([D_X, F_Y])$$", "AllGather_X [D_X, F_Y] -> [D, F_Y]"),
]

TRANSFORMERS_AND_ROOFLINE = [
    (
        r"$A[I,J,K,L] * B[I,J,M,N,O] \rightarrow C[K,L,M,N,O]$",
        "A[I, J, K, L] · B[I, J, M, N, O] -> C[K, L, M, N, O]",
    ),
    (
        r"$$\text{U[B, T, S, K, G]} \cdot \text{V[B, S, K, H]} \rightarrow "
        r"\text{X[B, T, K, G, H]}$$",
        "U[B, T, S, K, G] · V[B, S, K, H] -> X[B, T, K, G, H]",
    ),
    (
        r"Q[\blue{B}, T, \blue{N}, \red{H}] \cdot K[\blue{B}, S, \blue{N}, \red{H}] \to O[B,T,S,N]",
        "Q[B, T, N, H] · K[B, S, N, H] -> O[B, T, S, N]",
    ),
    (
        r"A[B,T,\red{N}, \red{H}] \cdot W_{O}[\red{N}, \red{H}, D] \to Out[B,T,D] \\[10pt]",
        "A[B, T, N, H] · W_O[N, H, D] -> Out[B, T, D]",
    ),
    (
        r"$X[B, D] \cdot_D Y[D, F] \rightarrow Z[B, F]$",
        "X[B, D] · Y[D, F] -> Z[B, F]",
    ),
    ("`bf16[B, D] * int8[D, F] -> bf16[B, F]`", "bf16[B, D] · int8[D, F] -> bf16[B, F]"),
    (
        r"$\text{int8}[B, D] \cdot_D \text{int8}[B, D, F] \rightarrow \text{int8}[B, F]$",
        "int8[B, D] · int8[B, D, F] -> int8[B, F]",
    ),
    ("bf16[N] • bf16[N] → bf16[]", "bf16[N] · bf16[N] -> bf16[]"),
]

TYPED = [
    *(
        (f"A[I, J_X] {dot} B[J_X, K] -> C[I, K]", "A[I, J_X] · B[J_X, K] -> C[I, K]")
        for dot in [".", "*", "@", "·", "⋅", "∙", "•", "×", r"\cdot", r"\times", r"\ast", r"\*"]
    ),
    *(
        (f"A[I, J_X] · B[J_X, K] {arrow} C[I, K]", "A[I, J_X] · B[J_X, K] -> C[I, K]")
        for arrow in ["→", "⟶", r"\to", r"\rightarrow", r"\longrightarrow", "-->", "-&gt;"]
    ),
    *(
        (f"AllGather_{{{axes}}} A[I_{sub}, J] -> A[I, J]", "AllGather_XY A[I_XY, J] -> A[I, J]")
        for axes, sub in [("XY", "XY"), ("X,Y", "{XY}"), ("X Y", "{X,Y}"), ("X, Y", "{X Y}")]
    ),
    *(
        (f"AllReduce_X C[I, K]{braces}", "AllReduce_X C[I, K]{U_X} -> C[I, K]")
        for braces in [
            "{U_X}",
            " {U_X}",
            "{ U_X }",
            r"\{U_X\}",
            r"\{\ U_X\ \}",
            r"{U_X\}",
            "{U.X}",
            "",
        ]
    ),
    ("A[I,J_X]·B[J_X,K]->C[I,K]", "A[I, J_X] · B[J_X, K] -> C[I, K]"),
    ("C[I, K_Y] = A[I, J] · B[J, K_Y]", "A[I, J] · B[J, K_Y] -> C[I, K_Y]"),
    ("C[I, K_Y] := A[I, J] · B[J, K_Y]", "A[I, J] · B[J, K_Y] -> C[I, K_Y]"),
    ("A[B_data, D] · W[D, F_model] -> [B_data, F_model]",) * 2,
    ("A[B_{data}, D_{data2,model}] · W[D] -> [B]", "A[B_data, D_{data2,model}] · W[D] -> [B]"),
    ("A[I_X1Y2] · B[J_{X1}] -> C[I, J]", "A[I_X1Y2] · B[J_X1] -> C[I, J]"),
    ("A: int8[I_X, J] · B: bfloat16[J, K] -> [I, K]", "A: int8[I_X, J] · B: bf16[J, K] -> [I, K]"),
    ("Q[B, T, N, H] *_{N,H} W[N, H, D] -> [B, T, D]", "Q[B, T, N, H] · W[N, H, D] -> [B, T, D]"),
    ("Q[B, T, N, H] ·_NH W[N, H, D] -> [B, T, D]", "Q[B, T, N, H] · W[N, H, D] -> [B, T, D]"),
    ("Q[B, NH] ·_NH W[NH, D] -> [B, D]", "Q[B, NH] · W[NH, D] -> [B, D]"),
    ("In[B, D] *D W_in[D, F] -> Tmp[B, F]", "In[B, D] · W_in[D, F] -> Tmp[B, F]"),
    ("A[I, J]*D[J, K] -> C[I, K]", "A[I, J] · D[J, K] -> C[I, K]"),
    ("A[B, I, J] ·_J W[B, J, K] · V[B, K, L] -> [B, I, L]",) * 2,
    ("A[I] · B[I] -> C[I]",) * 2,
    ("AllGrad[I] · All[I, J] -> ReduceSum[J]",) * 2,
    ("x[I] · y[J] -> C[I, J]",) * 2,
    ("A[I, J] · A[J, K] -> A[I, K]",) * 2,
    ("A[I, J] ·_{LOCAL,J} B[J, K] -> C[I, K]", "A[I, J] ·_LOCAL B[J, K] -> C[I, K]"),
    ("A[I, J] ·_{J,LOCAL} B[I, J] -> C", "A[I, J] ·_{J,LOCAL} B[I, J] -> C"),
    ("A'[I, J] · W_{in}'[J, K'] -> dW_in''[I, K']", "A'[I, J] · W_in'[J, K'] -> dW_in''[I, K']"),
    (r"A^\prime[I, J] · W_\text{in}[J] -> [I]", "A'[I, J] · W_in[J] -> [I]"),
    (r"{\bf A}[I, J] · W\_in[J] -> \textcolor{red}{C}[I]", "A[I, J] · W_in[J] -> C[I]"),
    ("all_gather_X(A[I_X, J])", "AllGather_X A[I_X, J] -> A[I, J]"),
    ("ALLGATHER_X A[I_X, J]", "AllGather_X A[I_X, J] -> A[I, J]"),
    ("AllGather_X[A[I_X, J]] -> A[I, J]", "AllGather_X A[I_X, J] -> A[I, J]"),
    ("AllGather_X A[I_XY]", "AllGather_X A[I_XY] -> A[I_Y]"),
    ("AllGather_X A: int8[I_X] -> [I]", "AllGather_X A: int8[I_X] -> int8[I]"),
    ("AllGather_X A[I_X] -> int8[I]", "AllGather_X A: int8[I_X] -> int8[I]"),
    ("AllReduce(C[I]{U_XY})", "AllReduce_XY C[I]{U_XY} -> C[I]"),
    ("AllReduce_X C[I]{U_YX}", "AllReduce_X C[I]{U_XY} -> C[I]{U_Y}"),
    ("reduce_scatter_{X,K} C[I, K]{U_X}", "ReduceScatter_{X,K} C[I, K]{U_X} -> C[I, K_X]"),
    ("ReduceScatter_XK C[I, K]{U_X}", "ReduceScatter_{X,K} C[I, K]{U_X} -> C[I, K_X]"),
    ("ReduceScatter_X A[I, J] -> A[I, J_X]", "ReduceScatter_{X,J} A[I, J]{U_X} -> A[I, J_X]"),
    ("ReduceScatter_{X,KV} C[I, KV_Y]", "ReduceScatter_{X,KV} C[I, KV_Y]{U_X} -> C[I, KV_YX]"),
    ("ReduceScatter_J A[J]{U_X} -> A[J_X]", "ReduceScatter_{X,J} A[J]{U_X} -> A[J_X]"),
    ("AllToAll_{X,J} A[I_X, J_Y]", "AllToAll_{X,J} A[I_X, J_Y] -> A[I, J_YX]"),
    ("all_to_all_X A[I_X, J] -> A[I, J_X]", "AllToAll_{X,J} A[I_X, J] -> A[I, J_X]"),
    ("AllToAll(A[I_X, J]) -> A[I, J_X]", "AllToAll_{X,J} A[I_X, J] -> A[I, J_X]"),
]

PLAIN = "A[I, J_X] · B[J_X, K] -> C[I, K]"
LOCAL = "A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]{U_X}"

PASTED = [
    *(
        (text, PLAIN)
        for text in [
            "A[I,J_X] &middot;&nbsp;B[J_X,K] &rarr; C[I,K]",
            "A[I,J_X] &sdot; B[J_X,K] &#8594; C[I,K]",
            "A[I,J_X] &#183; B[J_X,K] &#x2192; C[I,K]",
            "A[I,J<SUB>X</SUB>] * <B>B</B>[J<SUB>X</SUB>,K] -&gt; C[I,K]",
            r"A[I,J_X] \cdot B[J_X,K] \xrightarrow{\text{AllReduce}_X} C[I,K]",
            r"A[I,J_X] \cdot B[J_X,K] \xrightarrow[X]{} C[I,K]",
            "A[I,J_X] · B[J_X,K] –> C[I,K]",
            "A[I,J_X] · B[J_X,K] −> C[I,K]",
            "A[I,J_X] · B[J_X,K] —&gt; C[I,K]",
            PLAIN + ".",
            PLAIN + " ; ",
            PLAIN + ",",
            f"$${PLAIN}.$$",
            rf"\begin{{align*}} {PLAIN}, \end{{align*}}",
            f"<b>{PLAIN}</b>.",
            f"2.  {PLAIN}",
            f"  3) {PLAIN}",
            PLAIN + " (Case 3)",
            PLAIN + " (Case 3).",
            PLAIN + ". (Case 3)",
            PLAIN + " *(on critical path)*",
            PLAIN + " _(done ahead)_",
            PLAIN + " (3)",
            rf"$${PLAIN} \quad \text{{(Case 3)}}$$",
        ]
    ),
    ("AllGather_X(A[I_X]) (can be done ahead of time).", "AllGather_X A[I_X] -> A[I]"),
    *(
        (f"A[I, J_X] {dot} B[J_X, K] -> C[I, K]{{U_X}}", LOCAL)
        for dot in [
            "*local",
            r"\*local",
            "·_local",
            r"\cdot_\text{local}",
            "*LOCAL",
            "* Local",
            "·_{LOCAL}",
        ]
    ),
    *(
        (f"AllReduce C[I]{braces}", "AllReduce_XY C[I]{U_XY} -> C[I]")
        for braces in ["{U_X,U_Y}", "{U_X, U_Y}", "{U_X}{U_Y}", "{U.Y, U_X}", r"\{U_X\}\{U_Y\}"]
    ),
    *(
        (f"A{prime}[I] -> A{prime}[I_X]", "A'[I] -> A'[I_X]")
        for prime in ["&prime;", "&#39;", "&apos;", "&rsquo;"]
    ),
    (
        r"\text{Tmp}[B, F] \cdot d\text{Out}[B, D] \to d\mathbf{W}_\text{out}[F, D]",
        "Tmp[B, F] · dOut[B, D] -> dW_out[F, D]",
    ),
    (r"A[d, J] \cdot_d\text{B}[d, K] \to C[J, K]", "A[d, J] · B[d, K] -> C[J, K]"),
    *(
        (f"{name}(A[I_X, J])", "AllGather_X A[I_X, J] -> A[I, J]")
        for name in ["all-gather_X", "All-Gather_X", r"\textbf{all-gather}_X"]
    ),
    ("reduce-scatter_X C[I]{U_X} -> C[I_X]", "ReduceScatter_{X,I} C[I]{U_X} -> C[I_X]"),
    ("all-to-all_{X,J} A[I_X, J]", "AllToAll_{X,J} A[I_X, J] -> A[I, J_X]"),
    (
        "ReduceScatter_{X,Y} C[I, K] -> C[I, K_XY]",
        "ReduceScatter_{X,Y,K} C[I, K]{U_XY} -> C[I, K_XY]",
    ),
]

ELEMENT_TYPES = [
    ("BF16[I,J] * Int8[J,K] -> F32[I,K]", "bf16[I, J] · int8[J, K] -> f32[I, K]"),
    ("A: BFloat16[I] -> [I_X]", "A: bf16[I] -> bf16[I_X]"),
    ("bf16 A[I] · int8 W_in[I] -> f32 C[]", "A: bf16[I] · W_in: int8[I] -> C: f32[]"),
    ("A bf16[I] · W_in int8[I] -> C[]", "A: bf16[I] · W_in: int8[I] -> C[]"),
    ("A[I] *bf16 B[I] -> C[]", "A[I] · B: bf16[I] -> C[]"),
    ("AllGather_X bf16 A[I_X]", "AllGather_X A: bf16[I_X] -> A: bf16[I]"),
    ("x2[I] · F1[I] · S2[I] · U3[I] · s[I] · f[I] -> C[]",) * 2,
]

RESHARDS = [
    ("A[I, J] -> A[I_X, J]",) * 2,
    ("A[I_XY, J] -> A[I_Y, J_X]",) * 2,
    ("C[I, K]{U_X} -> C[I_X, K]",) * 2,
    ("A[I_X] -> B[I]{U_Y}",) * 2,
    ("A[I_X] -> A[I_X]",) * 2,
    ("B[I_X] = A: int8[I]", "A: int8[I] -> B: int8[I_X]"),
    ("A[I] -> int8[I_X]", "A: int8[I] -> int8[I_X]"),
    (r"$$\mathbf{A}[I_X] \to \mathbf{A}[I]$$", "A[I_X] -> A[I]"),
]

PARTS_OF_AXES = [
    ("A[I_{X:(1)2}, J_{X:(2)2,Y}] -> A[I, J]",) * 2,
    ("A[I_{ X : (1) 2 }] -> A[I_X:(2)2]", "A[I_{X:(1)2}] -> A[I_{X:(2)2}]"),
    ("A[I_{Y X:(1)2 X:(2)4}] -> A[I]", "A[I_{Y,X:(1)2,X:(2)4}] -> A[I]"),
    (r"A[I_\text{data:(2)3}] \to A[I]", "A[I_{data:(2)3}] -> A[I]"),
    ("A[I<sub>X:(1)2,Y</sub>] -> A[I]", "A[I_{X:(1)2,Y}] -> A[I]"),
    ("AllGather_{X:(2)2} A[I_{X:(2)2}]", "AllGather_{X:(2)2} A[I_{X:(2)2}] -> A[I]"),
    ("AllGather_X:(2)2: (A[I_X:(2)2])", "AllGather_{X:(2)2} A[I_{X:(2)2}] -> A[I]"),
    ("AllReduce C[I]{U.X:(2)2, U_Y}", "AllReduce_{X:(2)2,Y} C[I]{U_{X:(2)2,Y}} -> C[I]"),
    (
        "ReduceScatter_{X:(1)2,Y} C[I]{U_{X:(1)2,Y}} -> C[I_{X:(1)2,Y}]",
        "ReduceScatter_{X:(1)2,Y,I} C[I]{U_{X:(1)2,Y}} -> C[I_{X:(1)2,Y}]",
    ),
    ("A[I_X, J] · B[J_{Y:(1)2}, K] -> C[I_X, K]{U_{Y:(1)2}}",) * 2,
]

SPELLINGS = [
    *SHARDING,
    *TRAINING,
    *TRANSFORMERS_AND_ROOFLINE,
    *TYPED,
    *PASTED,
    *ELEMENT_TYPES,
    *RESHARDS,
    *PARTS_OF_AXES,
]
