import { start } from './start.tsx';

start(() => window.culvert);
