"""Next-vector models: they predict a step Δ from the current vector and those before it (vector cascade).

    ŷ = l2(x + Δ̂)

`model` defines and opens them, `ridge` is the default, solved in closed form, `recurrent` trains a small network in
torch and writes it as ONNX, `onnx` runs that or any other ONNX model, `rank` scores them for selection.
"""
