export type ChannelMessage = string | Buffer

export interface ChannelClosing {
  /** Of the protocol of WebSockets. */
  code: number
  reason: string
}

/** One end of a channel's connection. Messages that arrive before somebody receives them wait. */
export interface ChannelPort {
  /** Resolves when the connection takes more; at once if it has been closed, when the message is dropped. */
  send(message: ChannelMessage): Promise<void>
  /** Called once. The next message comes when `take` is done with the one before. */
  receive(take: (message: ChannelMessage) => Promise<void> | void): void
  close(code: number, reason: string): void
  /** When it is closed by either side, and all that had arrived has been taken. Never rejects. */
  readonly closed: Promise<ChannelClosing>
}

/**
 * A channel: a command beside a kernel's own, or a connection to a port of it, for somebody far away. Its messages are
 * the same between client and server as between server and agent; the server passes them on.
 *
 * Text is JSON: a `ChannelControl`. Bytes are data: one byte that names the stream, then its next bytes; nothing behind
 * that byte is the stream's end. Whoever sends data sends no more than CHANNEL_WINDOW_BYTES before the other side has
 * said, by `taken`, that it has passed them on.
 */

/** What the client sends first. The server adds to a connection's request what the client has named in the URL. */
export type ChannelRequest = ExecRequest | ConnectRequest

export interface ExecRequest {
  kind: 'exec'
  command: string[]
  /** In a terminal, whose output is one stream. */
  tty: boolean
  /** The kind of terminal (TERM). */
  term: string
  columns: number
  rows: number
}

export interface ConnectRequest {
  kind: 'connect'
  port: number
}

/** What an agent is told with the request. */
export interface ChannelOpening {
  type: 'open'
  kernelId: string
  assignment: number
  request: ChannelRequest
}

export type ChannelControl =
  | { type: 'open'; request: ChannelRequest }
  | { type: 'resize'; columns: number; rows: number }
  | { type: 'signal'; signal: ChannelSignal }
  | { type: 'taken'; bytes: number }
  /** From the agent: it runs, or it is connected. */
  | { type: 'opened' }
  /** From the agent, after all output. 128 + signal if a signal ended it; null of a connection. */
  | { type: 'ended'; exitCode: number | null; message?: string }
  /** From the agent or the server: a code of the table of errors. */
  | { type: 'failed'; code: string; message: string }

export const CHANNEL_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
export type ChannelSignal = (typeof CHANNEL_SIGNALS)[number]

/** The first byte of data. STDIN is towards the kernel; what comes of a connection is STDOUT. */
export const CHANNEL_STREAMS = { STDIN: 0, STDOUT: 1, STDERR: 2 } as const
export type ChannelStream = keyof typeof CHANNEL_STREAMS

/** @returns null if it is none */
export function parseControl(text: string): { type: string; [key: string]: unknown } | null {
  try {
    const control: unknown = JSON.parse(text)
    if (typeof control !== 'object' || control === null || !('type' in control)) return null
    return typeof control.type === 'string' ? { ...control, type: control.type } : null
  } catch {
    return null
  }
}
