/**
 * A channel gives a remote client a command that runs beside a kernel's own, or a connection to one of the kernel's
 * ports. Client and server exchange the same messages as server and agent; the server forwards them.
 *
 * A text message is JSON: a `ChannelControl`. A binary message is data: one byte that names the stream, then the
 * stream's next bytes. A binary message with only that one byte ends the stream. A sender has at most
 * CHANNEL_WINDOW_BYTES in flight: it sends more only after the receiver has confirmed, by `taken`, that it has
 * forwarded earlier bytes.
 */

export type ChannelMessage = string | Buffer

export interface ChannelClosing {
  /** A WebSocket close code. */
  code: number
  reason: string
}

/** One end of a channel's connection. Messages that arrive before `receive` is called are queued. */
export interface ChannelPort {
  /**
   * Resolves when the connection can take more. Once the connection is closed, resolves immediately and drops the
   * message.
   */
  send(message: ChannelMessage): Promise<void>
  /**
   * Registers the receiver; may be called once. The next message is delivered when `take` has finished with the
   * previous one.
   */
  receive(take: (message: ChannelMessage) => Promise<void> | void): void
  close(code: number, reason: string): void
  /**
   * Resolves when either side has closed the connection and every message that arrived has been taken. Never rejects.
   */
  readonly closed: Promise<ChannelClosing>
}

/**
 * The request that opens a channel. An ExecRequest is the client's first message; the server builds a ConnectRequest
 * from the URL's parameters.
 */
export type ChannelRequest = ExecRequest | ConnectRequest

export interface ExecRequest {
  kind: 'exec'
  command: string[]
  /** Runs the command in a terminal; its output is then one stream. */
  tty: boolean
  /** The terminal type (TERM). */
  term: string
  columns: number
  rows: number
}

export interface ConnectRequest {
  kind: 'connect'
  port: number
}

/** The server's first message to an agent; it carries the request. */
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
  /** Sent by the agent when the command runs or the port is connected. */
  | { type: 'opened' }
  /**
   * Sent by the agent after all output. `exitCode` is 128 + signal if a signal ended the command, and null for a
   * connection.
   */
  | { type: 'ended'; exitCode: number | null; message?: string }
  /** Sent by the agent or the server. `code` is a code of the error table. */
  | { type: 'failed'; code: string; message: string }

export const CHANNEL_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
export type ChannelSignal = (typeof CHANNEL_SIGNALS)[number]

/** The first byte of a data message. STDIN flows to the kernel; data that arrives from a connection is STDOUT. */
export const CHANNEL_STREAMS = { STDIN: 0, STDOUT: 1, STDERR: 2 } as const
export type ChannelStream = keyof typeof CHANNEL_STREAMS

/**
 * Parses a control message.
 * @returns null if the text is not a control message
 */
export function parseControl(text: string): { type: string; [key: string]: unknown } | null {
  try {
    const control: unknown = JSON.parse(text)
    if (typeof control !== 'object' || control === null || !('type' in control)) return null
    return typeof control.type === 'string' ? { ...control, type: control.type } : null
  } catch {
    return null
  }
}
