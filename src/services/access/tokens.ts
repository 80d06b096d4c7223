import { hash, randomBytes } from 'node:crypto'

/** Bearer tokens: 256 random bits behind a prefix that secret scanners can find. Only their hash is stored. */
const PREFIX = 'rpr_'
const TOKEN = /^rpr_[A-Za-z0-9_-]{43}$/

export function newToken(): string {
  return PREFIX + randomBytes(32).toString('base64url')
}

/** Text that cannot be a token needs no database lookup. */
export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

const BROWSER_KEY = /^[A-Za-z0-9_-]{43}$/
const BROWSER_CREDENTIAL = /^rpr_[A-Za-z0-9_-]{43}~[A-Za-z0-9_-]{43}$/

/** 256 random bits that the browser makes at login. */
export function isBrowserKey(text: string): boolean {
  return BROWSER_KEY.test(text)
}

/**
 * Authenticates a browser: the secret of its cookie, which it sends to every port of the host, and the key of its pages,
 * which it sends to their own origin only. Only the hash of both together is stored, so neither works without the other.
 */
export function browserCredential(secret: string, key: string): string {
  return `${secret}~${key}`
}

export function isBrowserCredential(text: string): boolean {
  return BROWSER_CREDENTIAL.test(text)
}

/** A fast hash is enough: there is nothing to guess in 256 random bits. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** Enough to tell tokens apart in a list, too little to be useful to an attacker. */
export function tokenPrefix(token: string): string {
  return token.slice(0, PREFIX.length + 6)
}
