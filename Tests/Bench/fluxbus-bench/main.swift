// The `fluxbus-bench` command: a load generator for a running bus.
BenchCommand.main()
