package main

import (
	"bufio"
	"bytes"
	"io"
)

// readLine reads one line of any length, without its \n. The last one may lack
// it: then the error is io.EOF beside the line.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		if err == nil && line == nil {
			return piece[:len(piece)-1], nil // valid until the next read
		}
		line = append(line, piece...)
		switch err {
		case nil:
			return line[:len(line)-1], nil
		case bufio.ErrBufferFull:
		case io.EOF:
			return line, io.EOF
		default:
			return line, err
		}
	}
}

func trimSpace(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }
