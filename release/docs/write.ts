/** `npm run docs`: writes the pages that are generated from the sources. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../repository.ts';
import { GENERATED } from './limits-page.ts';

for (const [file, make] of Object.entries(GENERATED)) writeFileSync(join(ROOT, file), await make());
