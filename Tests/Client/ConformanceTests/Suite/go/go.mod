module driver

go 1.19

require fluxbus v0.0.0

replace fluxbus => ../../../../../Sources/Clients/Go
