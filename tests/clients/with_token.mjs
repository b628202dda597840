// Passes requests on to ORION_URL with the token: the conformance suite brings none. Prints its own address.

import http from 'node:http';

const target = new URL(process.env.ORION_URL);
const server = http.createServer((incoming, outgoing) => {
  const headers = { ...incoming.headers, authorization: `Bearer ${process.env.PROGRAM_TOKEN}` };
  const { method, url: path } = incoming;
  const request = http.request({ host: target.hostname, port: target.port, method, path, headers }, (response) => {
    outgoing.writeHead(response.statusCode, response.headers);
    response.pipe(outgoing);
  });
  request.on('error', () => outgoing.destroy());
  outgoing.on('close', () => request.destroy());
  incoming.pipe(request);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
