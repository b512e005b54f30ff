// SPDX-License-Identifier: MIT

// Runs the statement in the arguments with a value, with all settings as pgx has them.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/jackc/pgx/v5"
)

func main() {
	ctx := context.Background()
	number, _ := strconv.Atoi(os.Args[2])
	conn, err := pgx.Connect(ctx, "")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer conn.Close(ctx)
	tag, err := conn.Exec(ctx, os.Args[1]+"$1", number)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(tag.RowsAffected())
}
