import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { ALL_API_ERRORS } from '../../shared/errors.ts';
import { ACCOUNT, TUNNEL } from '../../shared/tunnel.ts';
import { apiRoutes } from './app.ts';
import { openApiDocument } from './openapi.ts';
import { type ApiDeps, routerOf } from './route.ts';

const ttl = { defaultTtl: 3600, maxTtl: 604_800 };
const publicUrl = new URL('https://relay.example');

interface Schema {
  readonly [name: string]: unknown;
  readonly items?: Readonly<Record<string, unknown>>;
}

interface Document {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly tags: readonly string[]; readonly responses: object }>>>
  >;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

function hasSeveral({ anyOf, oneOf, allOf }: Schema): boolean {
  return [anyOf, oneOf, allOf].every((list) => list === undefined || (list as unknown[]).length > 1);
}

describe('the OpenAPI document', () => {
  const deps = { addresses: { publicUrl }, ttl, admin: {} } as ApiDeps;
  const routes = apiRoutes(deps);
  const document = openApiDocument(routes, publicUrl) as unknown as Document;
  const { schemas } = document.components;
  const text = JSON.stringify(document);

  /** Calls a function with every object of the document that may be a schema. */
  function eachSchema(check: (schema: Schema) => void): void {
    JSON.parse(text, (name, value: unknown) => {
      const isSchema = typeof value === 'object' && value !== null && !Array.isArray(value);
      if (isSchema && name !== 'properties' && name !== 'responses') check(value as Schema);
      return value;
    });
  }

  it('has an operation for every route, and a route for every operation', () => {
    // HEAD comes with every GET.
    const served = routerOf(routes, deps).stack.flatMap(({ methods, path }) =>
      methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${String(path)}`),
    );
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    assert.ok(served.length > 40);
    assert.deepEqual(new Set(operations), new Set(served));
  });

  it('has every error of the catalogue', () => {
    for (const { code } of ALL_API_ERRORS)
      assert.ok(text.includes(`"const":"${code}"`) || text.includes(`\`${code}\``), code);
    for (const { text: error } of ALL_API_ERRORS)
      assert.ok(text.includes(JSON.stringify(error).slice(1, -1)), error);
  });

  it('has every schema it refers to, and refers to every schema it has', () => {
    const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
    assert.deepEqual(new Set(references), new Set(Object.keys(schemas)));
  });

  const rules: [what: string, least: number, field: RegExp, holds: (schema: Schema) => boolean][] = [
    ['offers alternatives only if there are several', 10, /^(?:any|one|all)Of$/, hasSeveral],
    ['has a type for every value that it lists', 50, /^(?:enum|const)$/, (schema) => 'type' in schema],
    [
      'names the schema of the objects in each list',
      10,
      /^items$/,
      ({ items = {} }) => '$ref' in items || items['type'] === 'string',
    ],
    ['has no defaults, which generators take for fields that are required', 0, /^default$/, () => false],
  ];
  for (const [what, least, field, holds] of rules)
    it(what, () => {
      let found = 0;
      eachSchema((schema) => {
        if (!Object.keys(schema).some((name) => field.test(name))) return;
        found += 1;
        assert.ok(holds(schema), JSON.stringify(schema));
      });
      assert.ok(found >= least, `${found}`);
    });

  it('has an example of each schema that fits it', () => {
    const ajv = new Ajv2020({ strict: true, strictTypes: false });
    addFormats.default(ajv);
    ajv.addVocabulary(Object.keys(document));
    ajv.addSchema({ ...document, $id: 'document' });
    for (const [name, { examples }] of Object.entries(schemas)) {
      if (name === 'Document') continue;
      assert.ok(Array.isArray(examples) && examples.length > 0, name);
      for (const example of examples) {
        const isValid = ajv.validate({ $ref: `document#/components/schemas/${name}` }, example);
        assert.ok(isValid, `${name}: ${ajv.errorsText()}: ${JSON.stringify(example)}`);
      }
    }
  });

  it('has a tag that it explains, a response of success and one of failure for each operation', () => {
    const tags = new Set(document.tags.map(({ name }) => name));
    for (const [path, methods] of Object.entries(document.paths))
      for (const operation of Object.values(methods)) {
        assert.ok(operation.tags.length === 1 && tags.has(operation.tags[0] ?? ''), path);
        const statuses = Object.keys(operation.responses);
        assert.ok(
          statuses.some((status) => /^(?:2\d\d|default)$/.test(status)),
          path,
        );
        assert.ok(statuses.includes('4XX'), path);
      }
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
