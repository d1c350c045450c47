// TLS in front of a Temporal server, as a provider has it: it wants a client's certificate, and the API key of a request.
//
//     node tls_front.mjs UPSTREAM_PORT CERTIFICATE KEY CLIENT_AUTHORITY API_KEY
//
// It prints the port that it listens at. Requests without the key are answered as gRPC's UNAUTHENTICATED.
import { readFileSync } from "node:fs";
import { connect, createSecureServer } from "node:http2";

const [upstream, certificate, key, authority, apiKey] = process.argv.slice(2);
const server = createSecureServer({
  cert: readFileSync(certificate),
  key: readFileSync(key),
  ca: readFileSync(authority),
  requestCert: true,
  rejectUnauthorized: true,
});
const behind = connect(`http://127.0.0.1:${upstream}`);

server.on("stream", (stream, headers) => {
  stream.on("error", () => {});
  if (headers.authorization !== `Bearer ${apiKey}`) {
    const denied = { ":status": 200, "content-type": "application/grpc", "grpc-status": "16", "grpc-message": "Request unauthorized." };
    stream.respond(denied, { endStream: true });
    return;
  }
  const { ":authority": _, connection, ...passed } = headers;
  const request = behind.request(passed);
  let trailers = {};
  request.on("error", () => stream.close());
  request.on("trailers", (sent) => {
    trailers = sent;
  });
  request.on("response", (answer, flags) => {
    stream.respond(answer, { waitForTrailers: !(flags & 1), endStream: Boolean(flags & 1) });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    if (!(flags & 1)) request.pipe(stream);
  });
  stream.on("close", () => request.close());
  stream.pipe(request);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
