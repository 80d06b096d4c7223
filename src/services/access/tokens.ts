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

/** A fast hash is enough: there is nothing to guess in 256 random bits. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** Enough to tell tokens apart in a list, too little to be useful to an attacker. */
export function tokenPrefix(token: string): string {
  return token.slice(0, PREFIX.length + 6)
}
