/** `node desktop/build/main.ts` */
import { buildApp } from './build.ts';

await buildApp();
