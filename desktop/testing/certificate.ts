/**
 * A self-signed certificate for tests, for `localhost` and 127.0.0.1: nobody trusts it unless it is given as an authority.
 * Valid until 2126.
 */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUVHKSXUr4isQdPiH22wtnu33jSKAwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTE1NTQ1M1oYDzIxMjYxMDI4
MTU1NDUzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATBpP4TgYhz/L9IDvYoZGAY7EbCFZOhhG4nnkytv56j4Gq25kVm+/Rg
dHdYmvM7WpM4V8zNbm0kKj+Dr+iHnfzto28wbTAdBgNVHQ4EFgQUE/NZkoDo1Xfr
jGu49hDwfKavN2wwHwYDVR0jBBgwFoAUE/NZkoDo1XfrjGu49hDwfKavN2wwGgYD
VR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZI
zj0EAwIDSAAwRQIhAO4WNUkFDXMUh/gu06SOEBgOCAd5F28RYXM3IKq/4hceAiBn
ahE9FlGowUadOxY2xLXwpibH9WUwMZUSpkaEUbgonw==
-----END CERTIFICATE-----`;

/** Its key, which protects nothing. */
export const CERTIFICATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgRIme9rK73IxOu1Je
bkoQGkvzOw/GstTuZmYe34h6apuhRANCAATBpP4TgYhz/L9IDvYoZGAY7EbCFZOh
hG4nnkytv56j4Gq25kVm+/RgdHdYmvM7WpM4V8zNbm0kKj+Dr+iHnfzt
-----END PRIVATE KEY-----`;
