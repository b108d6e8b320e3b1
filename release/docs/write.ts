/** `npm run docs`: writes the pages that are generated from the sources. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../repository.ts';
import { GENERATED, generate } from './pages.ts';

for (const path of GENERATED) writeFileSync(join(ROOT, path), await generate(path));
