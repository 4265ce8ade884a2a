//go:build unix

package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// echo is the server on stdio: it echoes each chunk that it reads.
func echo() {
	buf := make([]byte, 256<<10)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil {
			return
		}
		if _, err := os.Stdout.Write(buf[:n]); err != nil {
			return
		}
	}
}

// relay is the bare relay: the cost of a plain Go program in the path.
func relay(command []string) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	go func() {
		io.Copy(in, os.Stdin)
		in.Close()
	}()
	io.Copy(os.Stdout, out)
	cmd.Wait()
}

// listenAndPrint serves on a free port and prints its URL.
func listenAndPrint(h http.Handler) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s\n", l.Addr())
	fmt.Fprintln(os.Stderr, http.Serve(l, h))
	os.Exit(1)
}

// httpServer echoes the body of a POST. It responds to a GET with a stream of ?events= events at
// intervals of ?pause=, each with its time.
func httpServer() {
	listenAndPrint(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "GET" {
			writeEvents(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
		// Read the whole body first: net/http does not read more after the response has begun.
		body := make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, body); err != nil {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(body)
	}))
}

func writeEvents(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.FormValue("events"))
	pause, _ := time.ParseDuration(r.FormValue("pause"))
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for i := range n {
		if i > 0 {
			time.Sleep(pause)
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"%d\"}}\n\n", time.Now().UnixNano())
		_ = out.Flush()
	}
}

// httpProxy is the reverse proxy of the standard library.
func httpProxy(target string) {
	u, err := url.Parse(target)
	if err != nil {
		panic(err)
	}
	p := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
		FlushInterval: -1,
		// Keep a connection for each client, as the tap does.
		Transport: &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true},
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	listenAndPrint(p)
}
