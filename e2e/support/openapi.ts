import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ApiResponse } from './api.ts';

interface ResponseObject {
  readonly headers?: Readonly<Record<string, { readonly required?: boolean; readonly schema: object }>>;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface OperationObject {
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
}

/** Checks responses against an OpenAPI document, and records which of the documented ones have been seen. */
export class OpenApiValidator {
  readonly document: Document;
  readonly #ajv: Ajv2020;
  readonly #seen = new Set<string>();

  constructor(json: unknown) {
    this.document = closed(json) as Document;
    this.#ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true });
    addFormats.default(this.#ajv);
    // The whole document is one schema resource, so that its references resolve.
    this.#ajv.addVocabulary(Object.keys(this.document));
    this.#ajv.addSchema({ ...this.document, $id: 'openapi' });
  }

  /** Every response with a status in the document, as `GET /path 200`. */
  get responses(): string[] {
    return Object.entries(this.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method]) => method !== 'parameters')
        .flatMap(([method, { responses }]) =>
          Object.keys(responses)
            .filter((status) => /^\d+$/.test(status))
            .map((status) => `${method.toUpperCase()} ${path} ${status}`),
        ),
    );
  }

  /** The {@link responses} that have not been seen. */
  get unseen(): string[] {
    return this.responses.filter((response) => !this.#seen.has(response));
  }

  /**
   * Checks status, required fields and body.
   *
   * @param operation method and path as in the document, such as `GET /v1/tunnels/{id}`
   */
  check(operation: string, received: Pick<ApiResponse, 'status' | 'head' | 'json'>): void {
    const [method = '', path = ''] = operation.split(' ');
    const key = `${operation} ${received.status}`;
    const pointer = ['paths', path, method.toLowerCase(), 'responses', String(received.status)];
    const response = this.document.paths[path]?.[method.toLowerCase()]?.responses[received.status];
    assert.ok(response !== undefined, `the document has no ${key}`);
    for (const [name, { required, schema }] of Object.entries(response.headers ?? {})) {
      const value = received.head.field(name);
      if (required === true || value !== undefined) this.#validate(schema, value, `${key}: ${name}`);
    }
    assert.equal(received.head.field('content-type'), 'application/json; charset=utf-8');
    const reference = [...pointer, 'content', 'application/json', 'schema'].map(escape).join('/');
    this.#validate({ $ref: `openapi#/${reference}` }, received.json, key);
    this.#seen.add(key);
  }

  #validate(schema: object, value: unknown, what: string): void {
    const isValid = this.#ajv.validate(schema, value);
    assert.ok(isValid, `${what}: ${this.#ajv.errorsText()}: ${JSON.stringify(value)}`);
  }
}

/** A token of a JSON pointer in a URI fragment (RFC 6901 section 6). */
function escape(token: string): string {
  return encodeURIComponent(token.replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** The same schemas without additional properties: an undocumented field is a gap in the document. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.fromEntries(Object.entries(value).map(([name, field]) => [name, closed(field)]));
  return 'properties' in fields ? { ...fields, additionalProperties: false } : fields;
}
