// node client.cjs MODULES URL ID SECRET [TOKEN]
// Amazon's own client against a server that says it is Route 53. Prints what
// it got as one JSON object. "example.org." must have one public zone there.
"use strict";
const path = require("path");
const sdk = require(path.resolve(process.argv[2], "@aws-sdk/client-route-53"));

const [, , , endpoint, accessKeyId, secretAccessKey, sessionToken] =
  process.argv;
const client = new sdk.Route53Client({
  endpoint,
  region: "us-east-1",
  credentials: { accessKeyId, secretAccessKey, sessionToken },
  maxAttempts: 1,
});
const said = {};

async function refused(what, promise) {
  try {
    await promise;
    said[what] = "accepted";
  } catch (e) {
    said[what] = `${e.name}: ${e.message}`;
  }
}

function set(Name, Type, values, TTL = 60) {
  const ResourceRecords = values.map((Value) => ({ Value }));
  return { Name, Type, TTL, ResourceRecords };
}

function change(HostedZoneId, ...changes) {
  const Changes = changes.map(([Action, ResourceRecordSet]) => ({
    Action,
    ResourceRecordSet,
  }));
  return client.send(
    new sdk.ChangeResourceRecordSetsCommand({
      HostedZoneId,
      ChangeBatch: { Comment: "made by Amazon's client", Changes },
    }),
  );
}

async function main() {
  const zones = await client.send(
    new sdk.ListHostedZonesByNameCommand({ DNSName: "example.org" }),
  );
  const zone = zones.HostedZones[0];
  said.found = [zone.Name, zone.Config.PrivateZone];
  const id = zone.Id.replace("/hostedzone/", "");

  const one = set("*.example.org", "A", ["192.0.2.1"]);
  const info = await change(
    id,
    ["CREATE", one],
    ["CREATE", set("_failover.example.org", "TXT", ['"a\\"\\303\\244"'])],
  );
  said.status = info.ChangeInfo.Status;
  await sdk.waitUntilResourceRecordSetsChanged(
    { client, maxWaitTime: 20, minDelay: 1, maxDelay: 1 },
    { Id: info.ChangeInfo.Id },
  );
  said.insync = true;

  await refused("again", change(id, ["CREATE", one]));
  await refused(
    "inexact",
    change(id, ["DELETE", set("*.example.org", "A", ["192.0.2.1"], 61)]),
  );
  const twin = ["192.0.2.1", "192.0.2.1"];
  await refused("twins", change(id, ["UPSERT", set("*.example.org", "A", twin)]));
  const cname = set("*.example.org", "CNAME", ["x.example.net"]);
  await refused("cname", change(id, ["CREATE", cname]));
  await refused("zone", change("ZNOTHERE", ["CREATE", one]));
  await change(
    id,
    ["DELETE", set("\\052.example.org", "A", ["192.0.2.1"])],
    ["CREATE", set("*.example.org", "A", ["192.0.2.2", "192.0.2.3"])],
  );

  said.sets = [];
  let at = {};
  do {
    const page = await client.send(
      new sdk.ListResourceRecordSetsCommand({
        HostedZoneId: id,
        MaxItems: 2,
        ...at,
      }),
    );
    for (const r of page.ResourceRecordSets)
      said.sets.push([
        r.Name,
        r.Type,
        r.TTL ?? null,
        (r.ResourceRecords || []).map((v) => v.Value),
        r.SetIdentifier ?? null,
      ]);
    at = page.IsTruncated && {
      StartRecordName: page.NextRecordName,
      StartRecordType: page.NextRecordType,
      StartRecordIdentifier: page.NextRecordIdentifier,
    };
  } while (at);
  console.log(JSON.stringify(said));
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
