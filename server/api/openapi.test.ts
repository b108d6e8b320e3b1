import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { ALL_API_ERRORS, API_ERRORS } from '../../shared/errors.ts';
import { ACCOUNT, TUNNEL } from '../../shared/tunnel.ts';
import { apiRoutes } from './app.ts';
import { openApiDocument } from './openapi.ts';
import { type ApiDeps, routerOf } from './route.ts';

const ttl = { defaultTtl: 3600, maxTtl: 604_800 };
const publicUrl = new URL('https://relay.example');

describe('the OpenAPI document', () => {
  const deps = { addresses: { publicUrl }, ttl, admin: {} } as ApiDeps;
  const routes = apiRoutes(deps);
  const document = openApiDocument(routes, publicUrl);
  const text = JSON.stringify(document);

  it('has an operation for every route, and a route for every operation', () => {
    // HEAD comes with every GET.
    const served = routerOf(routes, deps).stack.flatMap(({ methods, path }) =>
      methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${String(path)}`),
    );
    const operations = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    assert.ok(served.length > 40);
    assert.deepEqual(new Set(operations), new Set(served));
  });

  it('has every error of the catalogue', () => {
    for (const { code } of ALL_API_ERRORS)
      assert.ok(text.includes(`{"const":"${code}"}`) || text.includes(`\`${code}\``), code);
    for (const { text: error } of Object.values(API_ERRORS)) assert.ok(text.includes(error), error);
  });

  it('has every schema it refers to, and refers to every schema it has', () => {
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
    const { schemas } = document.components as { readonly schemas: object };
    assert.deepEqual(new Set(references), new Set(Object.keys(schemas)));
  });

  it('offers alternatives only if there are several', () => {
    let lists = 0;
    JSON.parse(text, (name, value: unknown) => {
      if (!['anyOf', 'oneOf', 'allOf'].includes(name)) return value;
      lists += 1;
      assert.ok(Array.isArray(value) && value.length > 1, JSON.stringify(value));
      return value;
    });
    assert.ok(lists > 10);
  });

  it('names each operation once', () => {
    const ids = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length);
  });

  it('has the fields of tunnels and accounts that docs/reference/protocol.md explains', () => {
    const page = readFileSync(new URL('../../docs/reference/protocol.md', import.meta.url), 'utf8');
    for (const { fields } of [TUNNEL, ACCOUNT, ACCOUNT.fields.limits])
      for (const field of Object.keys(fields)) assert.ok(page.includes(`\`${field}\``), field);
  });

  it('allows null for each optional field of a request', () => {
    const bodies = routes.flatMap(({ body }) => (body === undefined ? [] : [body.schema]));
    assert.ok(bodies.length > 5);
    for (const { title, properties, required } of bodies)
      for (const [field, schema] of Object.entries(properties ?? {}))
        if (!(required as readonly string[]).includes(field))
          assert.match(JSON.stringify(schema), /null/, `${JSON.stringify(title)}: ${field}`);
  });

  it("shows the relay's own address and limits", () => {
    assert.match(text, /"servers":\[\{"url":"https:\/\/relay\.example"\}\]/);
    assert.match(text, /at most 168h0m0s/);
  });
});
