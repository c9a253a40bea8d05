// Command gguf-parser-go prints what gguf-parser-go estimates for one model file, as JSON.
package main

import (
	"encoding/json"
	"os"
	"strconv"

	parser "github.com/gpustack/gguf-parser-go"
)

func main() {
	file, err := parser.ParseGGUFFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	context, _ := strconv.ParseInt(os.Args[2], 10, 32)
	batch, _ := strconv.ParseInt(os.Args[3], 10, 32)
	run := file.EstimateLLaMACppRun(
		parser.WithLLaMACppContextSize(int32(context)), parser.WithLLaMACppPhysicalBatchSize(int32(batch)),
		parser.WithFlashAttention(), parser.WithLLaMACppOffloadLayers(0),
	)
	_ = json.NewEncoder(os.Stdout).Encode(run)
}
