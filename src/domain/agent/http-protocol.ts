import type { ValidationIssue } from '../errors.ts'

/** The agent protocol over HTTP: POST, JSON both ways, `Authorization: Bearer …`; 200, or an error as below. */
export const AGENT_REGISTER_PATH = '/agent/v1/register'
export const AGENT_SYNC_PATH = '/agent/v1/sync'
/** Answers with the archive itself, of the length that it says. */
export const AGENT_CODE_PATH = '/agent/v1/code'
/** Whether a copy of a checkpoint is wanted. */
export const AGENT_CHECKPOINT_OFFER_PATH = '/agent/v1/checkpoint-offer'
/** Takes the copy itself as its body, and what it is, in JSON, in the header below. */
export const AGENT_CHECKPOINT_SEND_PATH = '/agent/v1/checkpoint-upload'
/** Answers with the copy itself, of the length that it says, and with what it is in the header below. */
export const AGENT_CHECKPOINT_FETCH_PATH = '/agent/v1/checkpoint'
export const AGENT_CHECKPOINT_HEADER = 'reprise-checkpoint'
/** A WebSocket, followed by the channel's id, with its secret as the bearer's token. 404 if another server has it. */
export const AGENT_CHANNEL_PATH = '/agent/v1/channels/'

export interface AgentErrorAnswer {
  /** A code from the table of errors, or INTERNAL. */
  code: string
  message: string
  issues: readonly ValidationIssue[]
  requestId: string
}
