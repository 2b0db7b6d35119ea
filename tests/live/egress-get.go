// SPDX-License-Identifier: LGPL-2.1-or-later
// What a program in Go says of a URL: its own resolver and its own TLS, without the C library.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	r, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	body, _ := io.ReadAll(r.Body)
	fmt.Println(r.StatusCode, string(body))
	if r.StatusCode != 200 {
		os.Exit(1)
	}
}
