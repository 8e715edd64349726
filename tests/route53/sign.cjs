// node sign.cjs MODULES
// One request as JSON on each line of standard input; answers with the
// Authorization header that npm aws4 makes of it.
"use strict";
const path = require("path");
const readline = require("readline");
const aws4 = require(path.resolve(process.argv[2], "aws4"));

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const ask = JSON.parse(line);
  const body = Buffer.from(ask.body, "base64");
  const signer = new aws4.RequestSigner(
    {
      service: "route53",
      region: ask.region,
      method: ask.method,
      path: ask.path,
      host: ask.headers.host,
      headers: ask.headers,
      body: body.length > 0 ? body : undefined,
      extraHeadersToIgnore: { "content-length": true },
    },
    {
      accessKeyId: ask.id,
      secretAccessKey: ask.secret,
      sessionToken: ask.token || undefined,
    },
  );
  // Else it takes the time of now, which may be another second.
  signer.datetime = ask.headers["x-amz-date"];
  const signed = signer.sign();
  console.log(JSON.stringify({ authorization: signed.headers.Authorization }));
});
