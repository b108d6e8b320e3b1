/** `import { expose } from '@culvert/culvert'`; its public types are in types/index.d.ts. */
export { expose } from './expose.ts';
