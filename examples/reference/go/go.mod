module example.com/ref-go

go 1.22
