module fluxbus

go 1.19
