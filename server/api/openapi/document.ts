/** The API described for programs: OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1), served as `/v1/openapi.json`. */
import { API_KEY_PATTERN, RELAY_TITLE } from '../../../shared/constraints.ts';
import { API_ERRORS, type ApiErrorEntry } from '../../../shared/errors.ts';
import type { TtlLimits } from '../../../shared/tunnel.ts';
import { VERSION } from '../../../shared/version.ts';
import { PATHS } from './operations.ts';
import type { JsonObject } from '../json-schema.ts';
import { schemas } from './schemas.ts';

/**
 * @param publicUrl the relay's own address
 * @param ttl what the relay allows
 */
export function openApiDocument(publicUrl: URL, ttl: TtlLimits): JsonObject {
  return {
    openapi: '3.1.1',
    info: {
      title: RELAY_TITLE,
      version: VERSION,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'Tunnels from a public address to a local port. Every error has the body `{"error": "<text>", "code": "<code>"}`, and codes never change. Any other path ' +
        `answers 404 ${nameOf(API_ERRORS.notFound)}, any other method 405 ${nameOf(API_ERRORS.methodNotAllowed)} with \`Allow\`; HEAD is ` +
        'answered wherever GET is. Paths are exact. Responses may get more fields with time.',
    },
    servers: [{ url: publicUrl.origin }],
    security: [{ key: [] }],
    paths: PATHS,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: `an API key: \`${API_KEY_PATTERN.source}\`` },
      },
      schemas: schemas(ttl),
    },
  };
}

function nameOf({ code, text }: ApiErrorEntry): string {
  return `\`${code}\` (${text})`;
}
