import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { ALL_API_ERRORS, API_ERRORS } from '../../../shared/errors.ts';
import type { JsonObject } from '../json-schema.ts';
import { type ApiDeps, createRouter } from '../routes.ts';
import { openApiDocument, PATHS } from './document.ts';
import { schemas } from './schemas.ts';

const ttl = { defaultTtl: 3600, maxTtl: 604_800 };
const publicUrl = new URL('https://relay.example');

describe('the OpenAPI document', () => {
  const text = JSON.stringify(openApiDocument(publicUrl, ttl));

  it('has an operation for every route, and a route for every operation', () => {
    const router = createRouter({ addresses: { publicUrl }, ttl } as ApiDeps);
    // HEAD comes with every GET.
    const routes = router.stack.flatMap(({ methods, path }) =>
      methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${String(path)}`),
    );
    const operations = Object.entries(PATHS).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => method !== 'parameters')
        .map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    // Pages for people are none.
    const pages = ['GET /', 'GET /invite/:token'];
    assert.deepEqual(new Set(operations), new Set(routes.filter((route) => !pages.includes(route))));
  });

  it('has every error of the catalogue', () => {
    for (const { code } of ALL_API_ERRORS)
      assert.ok(text.includes(`{"const":"${code}"}`) || text.includes(`\`${code}\``), code);
    for (const { text: error } of Object.values(API_ERRORS)) assert.ok(text.includes(error), error);
  });

  it('has every schema it refers to, and refers to every schema it has', () => {
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
    assert.deepEqual(new Set(references), new Set(Object.keys(schemas(ttl))));
  });

  it('names each operation once', () => {
    const ids = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length);
  });

  it('has the fields of tunnels and accounts that docs/protocol.md explains', () => {
    const page = readFileSync(new URL('../../../docs/protocol.md', import.meta.url), 'utf8');
    const { Tunnel, Account } = schemas(ttl);
    const limits = (Account.properties as { readonly limits: JsonObject }).limits;
    for (const { properties } of [Tunnel, Account, limits]) {
      for (const field of Object.keys(properties ?? {})) assert.ok(page.includes(`\`${field}\``), field);
    }
  });

  it('allows null for each optional field of a request', () => {
    const bodies = new Set<string>();
    for (const methods of Object.values(PATHS)) {
      for (const operation of Object.values(methods)) {
        const [, name] = /schemas\/(\w+)/.exec(JSON.stringify(operation['requestBody'] ?? '')) ?? [];
        if (name !== undefined) bodies.add(name);
      }
    }
    assert.ok(bodies.size > 5);
    const all = schemas(ttl) as Readonly<Record<string, JsonObject>>;
    for (const name of bodies) {
      const { properties, required } = all[name] as { properties?: JsonObject; required?: readonly string[] };
      for (const [field, schema] of Object.entries(properties ?? {}))
        if (required?.includes(field) !== true)
          assert.match(JSON.stringify(schema), /null/, `${name}.${field}`);
    }
  });

  it("shows the relay's own address and limits", () => {
    assert.match(text, /"servers":\[\{"url":"https:\/\/relay\.example"\}\]/);
    assert.match(text, /at most 168h0m0s/);
  });
});
