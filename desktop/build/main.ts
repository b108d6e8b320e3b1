/** `npm run build:desktop` */
import { buildApp } from './build.ts';

await buildApp();
