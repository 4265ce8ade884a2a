// The source of recordings: the server.
export * from './api.js';
