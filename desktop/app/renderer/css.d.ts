/** The bundler writes styles to main.css beside main.js. */
declare module '*.css';
