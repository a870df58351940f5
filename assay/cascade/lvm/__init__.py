"""Which vector comes next? A small model that predicts a step Δ from the current vector and those before it (001).

    ŷ = l2(x + Δ̂)

`model` is what every one of them obeys and how it is opened, `ridge` is the default, in closed form, `recurrent` trains
a small network in torch and writes it as ONNX, `onnx` runs that or anybody's, `rank` is what they are chosen by.
"""
