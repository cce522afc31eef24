/** \file transport.h
 *  Transports from outside gyre's tree: a shared object that carries bytes between two ranks.
 *  C11 and C++. docs/plugin_transport.md is the guide, tests/plugin/ an example.
 *
 *  gyre loads the object that GYRE_TRANSPORT_PLUGIN names, or libgyre-transport-NAME.so for
 *  GYRE_TRANSPORT=NAME, and looks for one symbol, gyreTransportPlugin_v1. A transport promises
 *  little: per connection, bytes arrive in order and once, or the connection fails. Framing,
 *  credits, farewells and the proof of who is calling are gyre's.
 *
 *  Everywhere:
 *  - No call waits. What cannot be done now answers gyreTransportAgain.
 *  - After gyreTransportFailed errno says why.
 *  - Threads: calls on one connection or listener come one at a time; calls on different ones
 *    may come at once, from any thread.
 *  - The object is never unloaded.
 */
#ifndef GYRE_TRANSPORT_H_
#define GYRE_TRANSPORT_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The most that a card takes. */
#define GYRE_TRANSPORT_CARD_BYTES 256

/** What TCP scores, for gyreTransportPlugin_v1_t::reach to compare with. */
#define GYRE_TRANSPORT_SCORE_TCP 100
/** What shared memory scores. */
#define GYRE_TRANSPORT_SCORE_SHM 1000

/** What a call answers. */
typedef enum {
  gyreTransportDone = 0,   /**< Something was done; the outputs are written. */
  gyreTransportAgain = 1,  /**< Nothing can be done now. Back-pressure, not an error. */
  gyreTransportClosed = 2, /**< poll alone: the peer has closed, and all it sent has been given. */
  gyreTransportFailed = 3  /**< The connection or listener is of no more use; errno says why. */
} gyreTransportResult_t;

/** A run of bytes to send. */
typedef struct {
  const void* data; /**< Valid during the call alone. */
  size_t bytes;     /**< Never 0. */
} gyreTransportPart_t;

/** What the shared object exports under the name gyreTransportPlugin_v1. Functions are never NULL
 *  unless they say so. */
typedef struct {
  /** sizeof(gyreTransportPlugin_v1_t) of the header it was compiled with; later versions may grow.
   */
  size_t size;
  /** Short, lower case: the value of GYRE_TRANSPORT and the word in log lines. */
  const char* name;

  /** How well the owner of `card` can be reached from here: 0 not at all, else a score. Where
   *  GYRE_TRANSPORT is auto the plug-in is taken if it beats the transport in the tree. */
  int (*reach)(const void* card, size_t card_bytes);

  /** Makes a listener for one caller and writes its card, at most GYRE_TRANSPORT_CARD_BYTES, which
   *  gyre carries to that caller. Answers Done or Failed. */
  gyreTransportResult_t (*listen)(void** listener, void* card, size_t* card_bytes);
  /** Calls the owner of `card`. Done: a connection, perhaps still being made: post and poll answer
   *  Again until it is. */
  gyreTransportResult_t (*dial)(const void* card, size_t card_bytes, void** connection);
  /** Takes a caller. gyre checks who it is, and asks again when it was a stranger. */
  gyreTransportResult_t (*answer)(void* listener, void** connection);
  /** Ends a listener. Connections live on. */
  void (*close_listener)(void* listener);

  /** Takes a beginning of the parts, as much as goes now, and says how many bytes that was (> 0
   * with Done). What was taken leaves without another call. */
  gyreTransportResult_t (*post)(void* connection, const gyreTransportPart_t* parts,
                                size_t part_count, size_t* posted_bytes);
  /** Gives the next bytes that have arrived, at most `room_bytes` (> 0), and says how many (> 0
   * with Done). Where one post ended and the next began does not matter. */
  gyreTransportResult_t (*poll)(void* connection, void* into, size_t room_bytes,
                                size_t* received_bytes);
  /** A descriptor that becomes readable when bytes arrive or the peer closes, so that a waiting
   * rank can sleep; -1 when there is none. May be NULL. */
  int (*descriptor)(void* connection);
  /** Ends a connection. What was posted still arrives; the peer then sees Closed. */
  void (*close)(void* connection);
} gyreTransportPlugin_v1_t;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GYRE_TRANSPORT_H_ */
